/** OpenCode: its `opencode.json` or `opencode.jsonc`, and a file of instructions that it names. */
import { isAbsolute, join } from "node:path";
import type { Surroundings } from "../core/surroundings.js";
import type { Agent, Setting } from "./agent.js";
import { OWN_MARK } from "./edit/whole-file.js";
import { objectionTo } from "./entry-extras.js";
import { instructions } from "./instructions.js";
import { areWords, askedTools, fieldsOf, SERVER_NAME, serverCommand, startsServer } from "./mcp-entry.js";

const ADVICE_FILE = "agentkernel.md";
const TOOL_TIMEOUT_MS = 600_000;

export const opencode: Agent = {
  name: "opencode",
  title: "OpenCode",
  program: "opencode",
  packages: ["opencode-ai", "opencode-linux", "opencode-darwin"],
  keyVariables: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_API_KEY"],
  loginFiles: ({ env, homeDir }) => [join(xdg(env.XDG_DATA_HOME, homeDir, ".local/share"), "opencode", "auth.json")],
  files: (setting) => {
    const { scope, launch, at } = setting;
    const { command, args } = serverCommand(launch);
    const words = [command, ...args];
    const advice = join(scope === "user" ? userFolder(at) : join(at.cwd, ".opencode"), ADVICE_FILE);
    const named = scope === "user" ? advice : `.opencode/${ADVICE_FILE}`;
    return [
      {
        path: configFile(setting),
        edits: [
          {
            kind: "json-set",
            path: ["mcp", SERVER_NAME],
            value: { type: "local", command: words, enabled: true, timeout: TOOL_TIMEOUT_MS },
            isOurs: (value) => startsServer(commandOf(value)),
            suffices: (value) => areWords(commandOf(value), words),
            objection: objectionTo(scope),
          },
          ...askedTools.map((tool) => ({
            kind: "json-set" as const,
            path: ["permission", toolName(tool)],
            value: "ask",
            isOurs: (value: unknown) => value === "ask",
            // Whatever the user has said about a tool counts.
            suffices: (value: unknown) => typeof value === "string",
          })),
          { kind: "json-item", path: ["instructions"], value: named, isOurs: (value) => value === named },
        ],
      },
      { path: advice, edits: [{ kind: "whole", text: `<!-- ${OWN_MARK} -->\n${instructions(toolName, "claude")}` }] },
    ];
  },
  remarks: () => [],
};

function toolName(name: string): string {
  return `${SERVER_NAME}_${name}`;
}

function commandOf(value: unknown): readonly unknown[] {
  const { command } = fieldsOf(value);
  return Array.isArray(command) ? command : [];
}

/** Of the two names the one that is there; it reads both. */
function configFile({ scope, at, exists }: Setting): string {
  const folder = scope === "user" ? userFolder(at) : at.cwd;
  const commented = join(folder, "opencode.jsonc");
  return exists(commented) ? commented : join(folder, "opencode.json");
}

function userFolder({ env, homeDir }: Surroundings): string {
  return join(xdg(env.XDG_CONFIG_HOME, homeDir, ".config"), "opencode");
}

function xdg(named: string | undefined, homeDir: string, usual: string): string {
  return named !== undefined && isAbsolute(named) ? named : join(homeDir, usual);
}
