/** Every verb there is: its table, and where its code is. Nothing is listed that does not work. */
import { languages } from "../backends/wasm/languages.js";
import { AgentKernelError } from "../core/errors.js";
import { nearest } from "../policy/nearest.js";
import { optionSettings } from "../settings/options.js";
import { agentVerbs } from "./agents/verb-table.js";
import { apiVerbs } from "./api-options.js";
import { daemonVerbs } from "./daemon-options.js";
import { withOurVerb } from "./docker-habits.js";
import { fileVerbs } from "./file-verbs.js";
import { graceOption } from "./grace.js";
import { imageVerbs } from "./images/verb-table.js";
import { mcpVerbs } from "./mcp-options.js";
import type { OptionSpec, VerbSpec } from "./option-spec.js";
import { lifeOptions, optionSpec, policyOptions } from "./policy-options.js";
import { failOnConflictOption, sandboxVerbs } from "./sandbox-options.js";
import { setupVerb } from "./setup-options.js";
import { trustVerb } from "./trust/verb-table.js";

const jsonOption: OptionSpec = { long: "json", help: "print the result as JSON" };

/** Kinds of file that `policy check` knows. */
export const fileKinds = ["project", "user", "policy"] as const;

/** Which records of the audit log are meant. */
const auditFilterOptions: readonly OptionSpec[] = [
  { long: "sandbox", value: "ID", help: "only of this sandbox, or of those whose id starts so" },
  {
    long: "type",
    value: "TYPE",
    repeats: true,
    help: "only these: sandbox, snapshot, exec, egress, file, project, policy, approval, trust, audit, or exactly, as exec.start (repeatable)",
  },
  { long: "denied", help: "only what was refused" },
];

export const shells = ["bash", "zsh", "fish"] as const;

export const verbs: readonly VerbSpec[] = [
  {
    name: "run",
    summary: "run a command in a new sandbox and remove the sandbox",
    usage: "run [options] [--] <command...>",
    examples: [
      "agentkernel run npm test",
      "agentkernel run --profile restrictive --timeout 30s -- python3 -c 'print(1 + 1)'",
      "agentkernel run --image debian:bookworm-slim bash",
      "agentkernel run --backend wasm module.wasm",
      "agentkernel run --backend wasm --lang js 'console.log(1 + 1)'",
    ],
    options: [
      ...policyOptions,
      { ...optionSpec(optionSettings.lang), choices: languages },
      { long: "keep", short: "k", help: "let the sandbox stay, under a name that is told" },
      ...lifeOptions,
      failOnConflictOption,
      graceOption,
      optionSpec(optionSettings.tty),
      optionSpec(optionSettings.json),
    ],
    rest: { kind: "command" },
    load: () => import("./verbs/run.js"),
  },
  ...sandboxVerbs,
  ...fileVerbs,
  {
    name: "doctor",
    summary: "prove each isolation layer on this machine by using it",
    usage: "doctor [options]",
    examples: ["agentkernel doctor", "agentkernel doctor --json"],
    options: [jsonOption],
    rest: { kind: "none" },
    apart: true,
    load: () => import("./verbs/doctor.js"),
  },
  setupVerb,
  {
    name: "policy explain",
    summary: "show the policy that run's options make, and what set each field",
    usage: "policy explain [options of run] [--] [command...]",
    examples: [
      "agentkernel policy explain --compatibility-mode codex --no-network",
      "agentkernel policy explain -- npm test",
    ],
    options: [...policyOptions, jsonOption],
    rest: { kind: "command", optional: true },
    load: () => import("./verbs/policy-explain.js"),
  },
  trustVerb,
  ...imageVerbs,
  {
    name: "policy check",
    summary: "check configuration and policy files without running anything",
    usage: "policy check [options] <file...>",
    examples: [
      "agentkernel policy check agentkernel.toml sandbox.policy.yaml",
      "agentkernel policy check --kind user ~/dotfiles/agentkernel.toml",
    ],
    options: [
      { long: "kind", value: "KIND", choices: fileKinds, help: "what the files are, where their names do not tell" },
      jsonOption,
    ],
    rest: { kind: "files" },
    load: () => import("./verbs/policy-check.js"),
  },
  {
    name: "audit list",
    summary: "show what sandboxes did, from the audit log",
    usage: "audit list [options]",
    examples: ["agentkernel audit list --type exec --since 1h", "agentkernel audit list --denied --json"],
    options: [
      ...auditFilterOptions,
      { long: "since", value: "TIME", help: "from then on: 30m, 12h, 7d ago, or 2030-01-31T12:00:00Z" },
      { long: "until", value: "TIME", help: "up to then, written the same way" },
      { long: "limit", value: "N", help: "the newest N that match (100)" },
      jsonOption,
    ],
    rest: { kind: "none" },
    load: () => import("./verbs/audit-list.js"),
  },
  {
    name: "audit tail",
    summary: "show the last records of the audit log, and new ones as they come",
    usage: "audit tail [options]",
    examples: ["agentkernel audit tail -f", "agentkernel audit tail -f --type egress --json"],
    options: [
      { long: "follow", short: "f", help: "go on with what is recorded from now on" },
      { long: "lines", short: "n", value: "N", help: "how many of the last ones (10)" },
      ...auditFilterOptions,
      { long: "json", help: "print one JSON object a line" },
    ],
    rest: { kind: "none" },
    apart: true,
    load: () => import("./verbs/audit-tail.js"),
  },
  {
    name: "audit verify",
    summary: "check that the audit log was neither edited nor cut",
    usage: "audit verify [options]",
    examples: ["agentkernel audit verify", "agentkernel audit verify --expect $(cat noted-elsewhere)"],
    options: [
      { long: "expect", value: "HASH", help: "a line with this hash, noted earlier, must still be there" },
      jsonOption,
    ],
    rest: { kind: "none" },
    apart: true,
    load: () => import("./verbs/audit-verify.js"),
  },
  ...daemonVerbs,
  ...mcpVerbs,
  ...apiVerbs,
  ...agentVerbs,
  {
    name: "completions",
    summary: "print completions for a shell",
    usage: "completions bash|zsh|fish",
    examples: ["agentkernel completions bash > ~/.local/share/bash-completion/completions/agentkernel"],
    options: [],
    rest: { kind: "choices", choices: shells },
    load: () => import("./verbs/completions.js"),
  },
  {
    name: "version",
    summary: "print the version",
    usage: "version [--json]",
    examples: ["agentkernel version --json"],
    options: [jsonOption],
    rest: { kind: "none" },
    load: () => import("./verbs/version.js"),
  },
  {
    name: "help",
    summary: "show help for a verb",
    usage: "help [verb]",
    examples: ["agentkernel help run"],
    options: [],
    rest: { kind: "words" },
    load: () => import("./verbs/help.js"),
  },
];

/** Those that people type. */
export const shownVerbs = verbs.filter(({ hidden }) => hidden !== true);

/** The verbs that begin with this word, where it is none by itself. */
export function familyOf(first: string): readonly VerbSpec[] {
  if (verbs.some(({ name }) => name === first)) return [];
  return shownVerbs.filter(({ name }) => name.startsWith(`${first} `));
}

/** The verb that the first word or two name, and the words after it. */
export function findVerb(words: readonly string[]): { readonly verb: VerbSpec; readonly rest: readonly string[] } {
  const ours = withOurVerb(words);
  if (ours !== null) return findVerb(ours);
  const [first = "", second] = words;
  const verb = verbs.find(({ name }) => name === first || name === `${first} ${second}`);
  if (verb) return { verb, rest: words.slice(verb.name === first ? 1 : 2) };
  const family = familyOf(first).map(({ name }) => name);
  if (family.length > 0) {
    if (second !== undefined && !second.startsWith("-")) {
      const near = nearest(`${first} ${second}`, family);
      throw new AgentKernelError("invalid_argument", `there is no verb "${first} ${second}"`, {
        hint: near === null ? `there are ${family.join(", ")}` : `did you mean agentkernel ${near}?`,
      });
    }
    throw new AgentKernelError("invalid_argument", `${first} needs a word after it`, {
      hint: `write agentkernel ${family.join(", or agentkernel ")}`,
    });
  }
  const known = shownVerbs.map(({ name }) => name.split(" ", 1)[0] ?? name);
  const near = nearest(first, known);
  throw new AgentKernelError("invalid_argument", `there is no verb "${first}"`, {
    hint: near === null ? "agentkernel --help lists the verbs" : `did you mean agentkernel ${near}?`,
  });
}

/** Whether these words name a verb that waits for its caller most of the time. */
export function isStanding([first = "", second]: readonly string[]): boolean {
  return verbs.some(({ name, standing }) => standing === true && (name === first || name === `${first} ${second}`));
}
