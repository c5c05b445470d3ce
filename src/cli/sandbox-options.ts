/** The verbs about sandboxes that stay, and their options. */
import { optionSettings } from "../settings/options.js";
import { graceOption } from "./grace.js";
import type { OptionSpec, VerbSpec } from "./option-spec.js";
import { lifeOptions, optionSpec, policyOptions } from "./policy-options.js";

const jsonOption: OptionSpec = { long: "json", help: "print the result as JSON" };

const startOption: OptionSpec = { long: "start", help: "start it at once (exec and start do, when they are used)" };

const noMemoryOption: OptionSpec = { long: "no-memory", help: "files alone, also of a machine that runs" };

const publishInsteadOption: OptionSpec = {
  long: "publish",
  short: "P",
  value: "[ADDR:]HOST:GUEST",
  repeats: true,
  help: "publish this port and not those of the original; none: no port (repeatable)",
};

export const failOnConflictOption: OptionSpec = {
  long: "fail-on-conflict",
  help: "with --workspace sync: status 1 where something was not carried over, since the host changed it meanwhile",
};

/** Questions have nobody to be put to while no command line waits. */
const keptPolicyOptions = policyOptions
  .filter(({ long }) => long !== "ask")
  // There is no command yet that could say it.
  .map((option) => (option.long === "image" ? { ...option, help: option.help.replace("command", "project") } : option));

export const sandboxVerbs: readonly VerbSpec[] = [
  {
    name: "create",
    summary: "make a sandbox that stays",
    usage: "create [options] NAME",
    examples: ["agentkernel create box", "agentkernel create --dir ~/project --ttl 8h --no-network work"],
    options: [...lifeOptions, ...keptPolicyOptions, jsonOption],
    rest: { kind: "words" },
    daemon: "required",
    load: () => import("./verbs/create.js"),
  },
  {
    name: "start",
    summary: "start sandboxes that were made or stopped",
    usage: "start [options] NAME...",
    examples: ["agentkernel start box"],
    options: [jsonOption],
    rest: { kind: "words", completes: "sandbox" },
    daemon: "required",
    load: () => import("./verbs/start.js"),
  },
  {
    name: "exec",
    summary: "run a command in a sandbox that stays, started where it is not running",
    usage: "exec [options] NAME [--] <command...>",
    examples: ["agentkernel exec box npm test", "agentkernel exec --env DEBUG=1 --workdir /tmp box sh -c 'pwd; env'"],
    options: [
      optionSpec(optionSettings["proc.env"]),
      { long: "workdir", short: "w", value: "PATH", help: "where the command starts (as the sandbox was made)" },
      optionSpec(optionSettings["proc.user"]),
      { long: "timeout", value: "TIME", help: "kill the command after this long, for example 30s, 1500ms, 10m" },
      graceOption,
      optionSpec(optionSettings.tty),
      { long: "detach", short: "d", help: "print its id and let it go on; logs shows its output" },
      { long: "json", help: "print output and exit status as one JSON object" },
    ],
    rest: { kind: "command", first: "sandbox" },
    daemon: "required",
    load: () => import("./verbs/exec.js"),
  },
  {
    name: "attach",
    summary: "open a shell on a terminal of a sandbox, or go back to one",
    usage: "attach [options] NAME [-- command...]",
    examples: [
      "agentkernel attach box",
      "agentkernel attach --new --workdir /tmp box",
      "agentkernel attach box -- vim README.md",
      "agentkernel attach --terminal t1f0c2a9b --detach-keys ctrl-a,d box",
    ],
    options: [
      { long: "new", short: "n", help: "a new terminal, also where one is left that nobody looks at" },
      { long: "terminal", value: "ID", help: "this one, which others may look at too; info shows them" },
      { long: "shell", value: "PROGRAM", help: "what a new terminal runs (bash where it is there, else sh)" },
      {
        long: "env",
        short: "e",
        value: "K=V|K",
        repeats: true,
        help: "set a variable in a new one, or pass the host's on (repeatable)",
      },
      { long: "workdir", short: "w", value: "PATH", help: "where a new one starts (as the sandbox was made)" },
      optionSpec(optionSettings["proc.user"]),
      { long: "detach-keys", value: "KEYS", help: "leave the terminal and let it go on (ctrl-p,ctrl-q)" },
    ],
    rest: { kind: "words", completes: "sandbox" },
    load: () => import("./verbs/attach.js"),
  },
  {
    name: "logs",
    summary: "show the output of a detached command",
    usage: "logs [options] NAME [COMMAND]",
    examples: ["agentkernel logs box", "agentkernel logs --follow --tail 20 box x1f0c2a9b"],
    options: [
      { long: "follow", short: "f", help: "go on until the command has ended" },
      { long: "tail", short: "n", value: "LINES", help: "only the last lines of what is there (all)" },
      { long: "json", help: "print one JSON object a line" },
    ],
    rest: { kind: "words", completes: "sandbox" },
    daemon: "required",
    load: () => import("./verbs/logs.js"),
  },
  {
    name: "stop",
    summary: "end what runs in sandboxes; what they have written stays",
    usage: "stop [options] NAME... | stop --command ID NAME | stop --all | stop --all-of-user",
    examples: [
      "agentkernel stop box",
      "agentkernel stop --timeout 30s box",
      "agentkernel stop --command x1f0c2a9b box",
      "agentkernel stop --all",
    ],
    options: [
      {
        long: "command",
        value: "ID",
        help: "kill this command alone, with everything that it started; the sandbox runs on",
      },
      { long: "all", help: "kill every sandbox of this state directory at once, those of run too" },
      { long: "all-of-user", help: "the same for all of this user, those of other homes and state directories too" },
      { long: "timeout", value: "TIME", help: "how long commands may take to end in order (10s)" },
      failOnConflictOption,
      jsonOption,
    ],
    rest: { kind: "words", completes: "sandbox" },
    load: () => import("./verbs/stop.js"),
  },
  {
    name: "pause",
    summary: "freeze what runs in sandboxes",
    usage: "pause [options] NAME...",
    examples: ["agentkernel pause box"],
    options: [jsonOption],
    rest: { kind: "words", completes: "sandbox" },
    daemon: "required",
    load: () => import("./verbs/pause.js"),
  },
  {
    name: "resume",
    summary: "let paused sandboxes go on",
    usage: "resume [options] NAME...",
    examples: ["agentkernel resume box"],
    options: [jsonOption],
    rest: { kind: "words", completes: "sandbox" },
    daemon: "required",
    load: () => import("./verbs/resume.js"),
  },
  {
    name: "snapshot",
    summary: "keep what a sandbox has written, as it is now, and what runs in a machine",
    usage: "snapshot [options] NAME",
    examples: ["agentkernel snapshot box", "agentkernel snapshot --name before-upgrade box"],
    options: [
      { long: "name", value: "SNAPSHOT", help: "how it is called (the sandbox's name and the time)" },
      noMemoryOption,
      jsonOption,
    ],
    rest: { kind: "words", completes: "sandbox" },
    daemon: "required",
    load: () => import("./verbs/snapshot.js"),
  },
  {
    name: "restore",
    summary: "make a new sandbox of a snapshot",
    usage: "restore [options] SNAPSHOT NEWNAME",
    examples: ["agentkernel restore before-upgrade box2", "agentkernel restore --start before-upgrade box2"],
    options: [startOption, noMemoryOption, publishInsteadOption, jsonOption],
    rest: { kind: "words", completes: "snapshot" },
    daemon: "required",
    load: () => import("./verbs/restore.js"),
  },
  {
    name: "fork",
    summary: "make a second sandbox of one, with everything that it has written",
    usage: "fork [options] NAME NEWNAME",
    examples: ["agentkernel fork box try-it", "agentkernel fork --start --publish 8081:80 box try-it"],
    options: [startOption, noMemoryOption, publishInsteadOption, jsonOption],
    rest: { kind: "words", completes: "sandbox" },
    daemon: "required",
    load: () => import("./verbs/fork.js"),
  },
  {
    name: "snapshots list",
    summary: "show the snapshots of sandboxes",
    usage: "snapshots list [options]",
    examples: ["agentkernel snapshots list", "agentkernel snapshots list --json"],
    options: [jsonOption],
    rest: { kind: "none" },
    daemon: "required",
    load: () => import("./verbs/snapshots-list.js"),
  },
  {
    name: "snapshots remove",
    summary: "remove snapshots; sandboxes that were made of them stay",
    usage: "snapshots remove [options] SNAPSHOT...",
    examples: ["agentkernel snapshots remove before-upgrade"],
    options: [jsonOption],
    rest: { kind: "words", completes: "snapshot" },
    daemon: "required",
    load: () => import("./verbs/snapshots-remove.js"),
  },
  {
    name: "remove",
    summary: "remove sandboxes with everything that they have written",
    usage: "remove [options] NAME...",
    examples: ["agentkernel remove box", "agentkernel remove --force box"],
    options: [{ long: "force", short: "f", help: "also those that run" }, jsonOption],
    rest: { kind: "words", completes: "sandbox" },
    daemon: "required",
    load: () => import("./verbs/remove.js"),
  },
  {
    name: "list",
    summary: "show the sandboxes that stay",
    usage: "list [options]",
    examples: ["agentkernel list", "agentkernel list --json"],
    options: [jsonOption],
    rest: { kind: "none" },
    daemon: "required",
    load: () => import("./verbs/list.js"),
  },
  {
    name: "info",
    summary: "show everything about a sandbox that stays",
    usage: "info [options] NAME",
    examples: ["agentkernel info box", "agentkernel info --json box"],
    options: [jsonOption],
    rest: { kind: "words", completes: "sandbox" },
    daemon: "required",
    load: () => import("./verbs/info.js"),
  },
  {
    name: "stats",
    summary: "show what sandboxes use: processor, memory, processes, disk, network",
    usage: "stats [options] [NAME...]",
    examples: ["agentkernel stats", "agentkernel stats --once box"],
    options: [{ long: "once", help: "show it once, also on a terminal" }, jsonOption],
    rest: { kind: "words", completes: "sandbox" },
    daemon: "required",
    load: () => import("./verbs/stats.js"),
  },
  {
    name: "names",
    summary: "print the names of the sandboxes that stay, for completions",
    usage: "names [--snapshots]",
    examples: ["agentkernel names"],
    options: [{ long: "snapshots", help: "those of the snapshots" }],
    rest: { kind: "none" },
    hidden: true,
    load: () => import("./verbs/names.js"),
  },
];
