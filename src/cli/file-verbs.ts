/** The verbs about files of sandboxes that stay, and their options. */
import type { OptionSpec, VerbSpec } from "./option-spec.js";

const cpOptions: readonly OptionSpec[] = [
  { long: "max-size", value: "SIZE", help: "the most that may come out of a sandbox, such as 500m or 50g (16g)" },
  { long: "json", help: "print what was copied as JSON" },
];

const diffOptions: readonly OptionSpec[] = [
  { long: "patch", short: "p", help: "print a patch that git apply takes" },
  { long: "stat", help: "print how many lines of each file come and go" },
  { long: "name-only", help: "print paths only" },
  { long: "json", help: "print the changes as JSON" },
];

const applyOptions: readonly OptionSpec[] = [
  { long: "dry-run", short: "n", help: "say what would be done, and do nothing" },
  {
    long: "force",
    short: "f",
    help: "also where the host changed the same files since; only for paths that are named",
  },
  {
    long: "yes-to",
    value: "PATH|all",
    repeats: true,
    help: "also what waits for a review (CLAUDE.md, .github/workflows, ...) at or below PATH (repeatable)",
  },
  { long: "json", help: "print what was done as JSON" },
];

export const fileVerbs: readonly VerbSpec[] = [
  {
    name: "cp",
    summary: "copy files and folders into, out of or between sandboxes",
    usage: "cp [options] SOURCE TARGET, one of them as NAME:/path",
    examples: [
      "agentkernel cp box:/workspace/report.html .",
      "agentkernel cp ./fixtures box:/workspace/test/",
      "agentkernel cp box:/workspace/. ./out",
    ],
    options: cpOptions,
    rest: { kind: "words", completes: "file" },
    daemon: "required",
    load: () => import("./verbs/cp.js"),
  },
  {
    name: "diff",
    summary: "show what a sandbox changed in its copy of the project",
    usage: "diff [options] NAME [PATH...]",
    examples: ["agentkernel diff box", "agentkernel diff --patch box src", "agentkernel diff --patch box | git apply"],
    options: diffOptions,
    rest: { kind: "words", completes: "sandbox-then-files" },
    daemon: "required",
    load: () => import("./verbs/diff.js"),
  },
  {
    name: "apply",
    summary: "take over what a sandbox changed; status 1 where conflicts with the host's changes are left",
    usage: "apply [options] NAME [PATH...]",
    examples: [
      "agentkernel apply --dry-run box",
      "agentkernel apply box src test",
      "agentkernel apply --force box src/main.c",
      "agentkernel apply --yes-to CLAUDE.md box",
    ],
    options: applyOptions,
    rest: { kind: "words", completes: "sandbox-then-files" },
    daemon: "required",
    load: () => import("./verbs/apply.js"),
  },
];
