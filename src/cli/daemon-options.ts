/** The options of the daemon's verbs. */
import { resolve } from "node:path";
import { compatibilityModes, profileNames } from "../core/policy.js";
import type { Surroundings } from "../core/surroundings.js";
import type { OptionSpec, ParsedOptions, VerbSpec } from "./option-spec.js";

const jsonOption: OptionSpec = { long: "json", help: "print the result as JSON" };

const lifeOptions: readonly OptionSpec[] = [
  { long: "idle-timeout", value: "TIME", help: "end by itself after so long with nothing to do, such as 10m" },
  { long: "log", value: "FILE", completes: "file", help: "where its log goes" },
];

/** Most have a process of their own: a daemon cannot be asked to start or to outlive itself. */
export const daemonVerbs: readonly VerbSpec[] = [
  {
    name: "daemon start",
    summary: "start a daemon in the background, which makes every run faster",
    usage: "daemon start [options]",
    examples: ["agentkernel daemon start", "agentkernel daemon start --idle-timeout 1h"],
    options: [...lifeOptions, jsonOption],
    rest: { kind: "none" },
    apart: true,
    load: () => import("./verbs/daemon-start.js"),
  },
  {
    name: "daemon run",
    summary: "run the daemon in the foreground",
    usage: "daemon run [options]",
    examples: ["agentkernel daemon run"],
    options: [
      ...lifeOptions,
      { long: "on-demand", help: "end by itself once nothing is left to own, as one does that a verb started" },
    ],
    rest: { kind: "none" },
    apart: true,
    load: () => import("./verbs/daemon-run.js"),
  },
  {
    name: "daemon stop",
    summary: "end the daemon, and the commands that it runs; sandboxes that stay go on",
    usage: "daemon stop [options]",
    examples: ["agentkernel daemon stop", "agentkernel daemon stop --all"],
    options: [{ long: "all", help: "end the sandboxes that stay, too" }, jsonOption],
    rest: { kind: "none" },
    apart: true,
    load: () => import("./verbs/daemon-stop.js"),
  },
  {
    name: "daemon reload",
    summary: "replace the daemon by one of this build, without dropping what runs",
    usage: "daemon reload [options]",
    examples: ["agentkernel daemon reload"],
    options: [jsonOption],
    rest: { kind: "none" },
    apart: true,
    load: () => import("./verbs/daemon-reload.js"),
  },
  {
    name: "daemon prewarm",
    summary: "build sandboxes for runs in this folder that have not come yet",
    usage: "daemon prewarm [options]",
    examples: ["agentkernel daemon prewarm --mode claude"],
    options: [
      { long: "mode", value: "MODE", choices: compatibilityModes, help: "for runs of this agent" },
      { long: "profile", short: "p", value: "PROFILE", choices: profileNames, help: "for runs with this profile" },
      { long: "image", short: "i", value: "IMAGE", help: "for runs with this image" },
      jsonOption,
    ],
    rest: { kind: "none" },
    daemon: "required",
    load: () => import("./verbs/daemon-prewarm.js"),
  },
  {
    name: "daemon status",
    summary: "show whether a daemon is up, and what it does",
    usage: "daemon status [options]",
    examples: ["agentkernel daemon status", "agentkernel daemon status --json"],
    options: [jsonOption],
    rest: { kind: "none" },
    apart: true,
    load: () => import("./verbs/daemon-status.js"),
  },
];

/** Null where it was not named. */
export function logPath(parsed: ParsedOptions, { cwd }: Pick<Surroundings, "cwd">): string | null {
  const path = parsed.values.get("log")?.[0];
  return path === undefined ? null : resolve(cwd, path);
}
