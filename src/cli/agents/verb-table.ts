/** The verbs about coding agents. */
import type { OptionSpec, VerbSpec } from "../option-spec.js";

const json: OptionSpec = { long: "json", help: "print the result as JSON" };

/** The names and words of src/agents, which is loaded only where it is needed. */
const names = ["claude", "codex", "gemini", "opencode"] as const;

const scopeOptions: readonly OptionSpec[] = [
  { long: "user", help: "for you, in all projects (default)" },
  { long: "project", help: "for the project in the current folder, and everybody who works on it" },
  { long: "yes", short: "y", help: "do not ask" },
  { long: "json", help: "print the changes as JSON; without --yes nothing is written" },
];

export const agentVerbs: readonly VerbSpec[] = [
  {
    name: "agents install",
    summary: "let a coding agent run its commands in sandboxes",
    usage: "agents install [options] claude|codex|gemini|opencode",
    examples: ["agentkernel agents install claude", "agentkernel agents install --project --yes codex"],
    options: scopeOptions,
    rest: { kind: "words", choices: names },
    apart: true,
    load: () => import("../verbs/agents-install.js"),
  },
  {
    name: "agents uninstall",
    summary: "take out of an agent's files what was installed, and nothing else",
    usage: "agents uninstall [options] claude|codex|gemini|opencode",
    examples: ["agentkernel agents uninstall claude"],
    options: scopeOptions,
    rest: { kind: "words", choices: names },
    apart: true,
    load: () => import("../verbs/agents-uninstall.js"),
  },
  {
    name: "agents",
    summary: "list coding agents: installed or not, and whether they have a key",
    usage: "agents [options]",
    examples: ["agentkernel agents", "agentkernel agents --json"],
    options: [json],
    rest: { kind: "none" },
    apart: true,
    load: () => import("../verbs/agents.js"),
  },
  {
    name: "hook claude",
    summary: "answer Claude Code's PreToolUse hook: its commands go into a sandbox",
    usage: "hook claude [options] < hook-input.json",
    examples: ["agentkernel hook claude --leaving refuse < hook-input.json"],
    options: [
      {
        long: "leaving",
        value: "ANSWER",
        choices: ["ask", "refuse"],
        help: "what happens to a request to run outside the sandbox (ask)",
      },
    ],
    rest: { kind: "none" },
    hidden: true,
    load: () => import("../verbs/hook-claude.js"),
  },
];
