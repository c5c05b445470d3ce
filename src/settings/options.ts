/**
 * Settings that are no numbers, by their names in the policy where they have one there. The order is that of help.
 * `run` has all of them; `create`, `policy explain` and `mcp server` have those that make sense there.
 */
import {
  backendChoices,
  compatibilityModes,
  egressModes,
  profileNames,
  pullChoices,
  workspaceModes,
} from "./choices.js";
import { type OptionDescription, option } from "./option.js";

/** What comes before the numbers in help. */
const leading = {
  image: option({
    flag: "image",
    short: "i",
    placeholder: "IMAGE",
    help: "where the root filesystem comes from (by the command)",
    json: "image",
    jsonHelp: "Where the root filesystem comes from; otherwise it is detected from the command.",
    toml: "sandbox.base_image",
  }),
  pull: option({
    flag: "pull",
    placeholder: "WHEN",
    choices: pullChoices,
    help: "ask a registry for the image (missing)",
  }),
  profile: option({
    flag: "profile",
    short: "p",
    placeholder: "NAME",
    choices: profileNames,
    help: "how much is allowed (moderate)",
    json: "profile",
    jsonHelp: "How much is allowed (moderate).",
    toml: "security.profile",
  }),
  mode: option({
    flag: "compatibility-mode",
    placeholder: "MODE",
    choices: compatibilityModes,
    help: "defaults that fit one agent (native)",
    json: "compatibility_mode",
    jsonHelp: "Defaults that fit one agent (native).",
    toml: "agent.compatibility_mode",
  }),
  "net.egress": option({
    flag: "network",
    placeholder: "WHICH",
    choices: egressModes,
    help: "what can be reached",
    json: "network",
    jsonHelp: "What can be reached.",
    toml: "security.network",
    policyFile: "net.egress",
  }),
  noNetwork: option({ flag: "no-network", help: "the same as --network off", json: "network" }),
  "net.allow": option({
    flag: "allow-domain",
    placeholder: "DOMAIN",
    repeats: true,
    help: "reach this name; means --network allowlist (repeatable)",
    json: "network.allowed_domains",
    toml: "security.domains.allow",
    policyFile: "net.allow",
  }),
  "net.secrets": option({
    flag: "secret",
    placeholder: "NAME:HOST[:HEADER]",
    repeats: true,
    help: "give HOST the variable NAME in a header; the sandbox sees a placeholder only (repeatable)",
    json: "secrets",
    jsonHelp:
      "Secrets of the server's environment, each for one host; the sandbox sees a placeholder only. Only for the user of the same machine or an admin key.",
    policyFile: "net.secrets",
  }),
  "proc.user": option({
    flag: "user",
    short: "u",
    placeholder: "USER",
    help: "name, uid, name:group or uid:gid inside the sandbox",
    json: "user",
    jsonHelp: "Who commands run as: name, uid, name:group or uid:gid.",
  }),
  "proc.env": option({
    flag: "env",
    short: "e",
    placeholder: "K=V|K",
    repeats: true,
    help: "set a variable, or pass the host's on (repeatable)",
    json: "env",
    jsonHelp: "Variables for every command.",
  }),
  dir: option({
    flag: "dir",
    placeholder: "DIR",
    completes: "folder",
    help: "the project (the current folder)",
    json: "dir",
    jsonHelp:
      "A folder of the host, shown as /workspace. Only for the user of the same machine, an admin key, or a key that was given it.",
  }),
  workdir: option({
    flag: "workdir",
    short: "w",
    placeholder: "PATH",
    help: "where the command starts, absolute or in the project (/workspace)",
    json: "cwd",
    jsonHelp: "The working directory, inside the sandbox (/workspace).",
  }),
};

/** What comes after them. */
const trailing = {
  "fs.workspace.mode": option({
    flag: "workspace",
    placeholder: "HOW",
    choices: workspaceModes,
    help: "the project as /workspace: a copy, carried back, the real folder, or none",
    json: "workspace",
    jsonHelp: "How `dir` is shown: as a copy (default), carried over after the end, live, or not at all.",
    policyFile: "fs.workspace.mode",
  }),
  "fs.review": option({
    flag: "yes-to",
    placeholder: "NAME|all",
    repeats: true,
    help: "let changes of such files (CLAUDE.md, .github/workflows, ...) reach the project without a review (repeatable)",
  }),
  "fs.mounts": option({
    flag: "mount",
    short: "v",
    placeholder: "HOST:GUEST[:ro]",
    repeats: true,
    completes: "file",
    help: "show a file or folder of the host (repeatable)",
    json: "mounts",
    jsonHelp: "Files and folders of the host beside `dir`. Only for the user of the same machine or an admin key.",
    policyFile: "fs.mounts",
  }),
  "fs.show": option({
    flag: "show",
    placeholder: "PATH",
    repeats: true,
    completes: "file",
    help: "show a file of the project that built-in rules hide, or a folder with all in it (repeatable)",
  }),
  config: option({
    flag: "config",
    short: "c",
    placeholder: "FILE",
    completes: "file",
    help: "configuration instead of the project's agentkernel.toml",
  }),
  policy: option({ flag: "policy", placeholder: "FILE", completes: "file", help: "policy file, YAML or JSON" }),
  publish: option({
    flag: "publish",
    short: "P",
    placeholder: "[ADDR:]HOST:GUEST",
    repeats: true,
    help: "let a port of this machine lead to one inside; loopback unless ADDR says otherwise (repeatable)",
    json: "publish",
    jsonHelp:
      "Ports of the server's machine that lead to ports inside. Only for the user of the same machine or an admin key.",
  }),
  ask: option({
    flag: "ask",
    help: "put destinations that are not allowed to you: once, for this sandbox, never",
  }),
  backend: option({
    flag: "backend",
    short: "B",
    placeholder: "NAME",
    help: `what isolates the sandbox: ${backendChoices.filter((name) => name !== "hyperlight").join(", ")} (auto)`,
    json: "backend",
    jsonHelp: "What isolates it (auto). With `wasm` the command is a WebAssembly module and its arguments.",
    toml: "sandbox.backend",
  }),
};

/** What a single command has, beside its sandbox. */
const ofCommands = {
  lang: option({
    flag: "lang",
    placeholder: "LANGUAGE",
    help: "with --backend wasm: the first word is a program's text in this language",
    json: "lang",
  }),
  tty: option({ flag: "tty", short: "t", help: "give the command a terminal" }),
  json: option({ flag: "json", help: "print output and exit status as one JSON object" }),
};

/** What a persistent sandbox has besides. */
const ofLife = {
  ttl: option({
    flag: "ttl",
    placeholder: "TIME",
    help: "remove it after this long, for example 30m, 8h, 7d",
    json: "ttl",
  }),
  idleTimeout: option({
    flag: "idle-timeout",
    placeholder: "TIME",
    help: "stop it after this long with nothing going on in it, for example 30m, 2d",
    json: "idle_timeout",
  }),
};

export const optionSettings = { ...leading, ...trailing, ...ofCommands, ...ofLife };

export type OptionName = keyof typeof optionSettings;

export interface NamedOption {
  readonly name: OptionName;
  readonly setting: OptionDescription;
}

function namedIn(table: Readonly<Record<string, OptionDescription>>): readonly NamedOption[] {
  return Object.entries(table).map(([name, setting]) => ({ name: name as OptionName, setting }));
}

export const leadingOptions = namedIn(leading);
export const trailingOptions = namedIn(trailing);
export const lifeSettings = namedIn(ofLife);
