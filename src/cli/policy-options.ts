/** The options that make a policy: `run` and `policy explain` take the same. */
import { compatibilityModes, egressModes, profileNames, workspaceModes } from "../core/policy.js";
import { candidateNames } from "../runtime/backends/candidates.js";
import { pullChoices } from "../runtime/root-image.js";
import { settableNumbers } from "../settings/index.js";
import { optionHelp } from "../settings/numeric-setting.js";
import type { OptionSpec } from "./option-spec.js";

export const policyOptions: readonly OptionSpec[] = [
  { long: "image", short: "i", value: "IMAGE", help: "where the root filesystem comes from (by the command)" },
  { long: "pull", value: "WHEN", choices: pullChoices, help: "ask a registry for the image (missing)" },
  { long: "profile", short: "p", value: "NAME", choices: profileNames, help: "how much is allowed (moderate)" },
  {
    long: "compatibility-mode",
    value: "MODE",
    choices: compatibilityModes,
    help: "defaults that fit one agent (native)",
  },
  { long: "network", value: "WHICH", choices: egressModes, help: "what can be reached" },
  { long: "no-network", help: "the same as --network off" },
  {
    long: "allow-domain",
    value: "DOMAIN",
    repeats: true,
    help: "reach this name; means --network allowlist (repeatable)",
  },
  {
    long: "secret",
    value: "NAME:HOST[:HEADER]",
    repeats: true,
    help: "give HOST the variable NAME in a header; the sandbox sees a placeholder only (repeatable)",
  },
  { long: "user", short: "u", value: "USER", help: "name, uid, name:group or uid:gid inside the sandbox" },
  {
    long: "env",
    short: "e",
    value: "K=V|K",
    repeats: true,
    help: "set a variable, or pass the host's on (repeatable)",
  },
  { long: "dir", value: "DIR", completes: "folder", help: "the project (the current folder)" },
  {
    long: "workdir",
    short: "w",
    value: "PATH",
    help: "where the command starts, absolute or in the project (/workspace)",
  },
  ...settableNumbers.map(({ setting }) => ({
    long: setting.flag,
    value: setting.quantity.placeholder,
    help: optionHelp(setting),
  })),
  {
    long: "workspace",
    value: "HOW",
    choices: workspaceModes,
    help: "the project as /workspace: a copy, carried back, the real folder, or none",
  },
  {
    long: "yes-to",
    value: "NAME|all",
    repeats: true,
    help: "let changes of such files (CLAUDE.md, .github/workflows, ...) reach the project without a review (repeatable)",
  },
  {
    long: "mount",
    short: "v",
    value: "HOST:GUEST[:ro]",
    repeats: true,
    completes: "file",
    help: "show a file or folder of the host (repeatable)",
  },
  {
    long: "show",
    value: "PATH",
    repeats: true,
    completes: "file",
    help: "show a file of the project that built-in rules hide, or a folder with all in it (repeatable)",
  },
  {
    long: "config",
    short: "c",
    value: "FILE",
    completes: "file",
    help: "configuration instead of the project's agentkernel.toml",
  },
  { long: "policy", value: "FILE", completes: "file", help: "policy file, YAML or JSON" },
  {
    long: "publish",
    short: "P",
    value: "[ADDR:]HOST:GUEST",
    repeats: true,
    help: "let a port of this machine lead to one inside; loopback unless ADDR says otherwise (repeatable)",
  },
  { long: "ask", help: "put destinations that are not allowed to you: once, for this sandbox, never" },
  {
    long: "backend",
    short: "B",
    value: "NAME",
    help: `what isolates the sandbox: auto, ${candidateNames.join(", ")} (auto)`,
  },
];

/** What `mcp server` leaves to its client, and to questions through it. */
const ofOneCall: readonly string[] = ["dir", "workdir", "publish", "ask"];

/** The same for every sandbox of an MCP server, as its user gives them. */
export const serverPolicyOptions: readonly OptionSpec[] = policyOptions
  .filter(({ long }) => !ofOneCall.includes(long))
  .map(({ short: _, ...option }) => option);
