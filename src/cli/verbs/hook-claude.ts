/** `hook claude`: reads what Claude Code tells its PreToolUse hook, and answers. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { bashRules, type SettingsText } from "../../agents/claude/bash-rules.js";
import { answerText, decide, type Leaving } from "../../agents/claude/hook.js";
import { CLEANED_VARIABLE } from "../../agents/claude/hook-entry.js";
import { pathOutside, runningProgram } from "../../agents/launch.js";
import { realPath } from "../../agents/real-path.js";
import { readRegularFile } from "../../core/regular-file.js";
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeOut } from "../output.js";

/** A tool call with a long command and its surroundings is far below this. */
const MAX_INPUT_BYTES = 8 << 20;

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { env, cwd } = invocation;
  const leaving = (parsed.values.get("leaving")?.[0] ?? "ask") as Leaving;
  const projectDir = env.CLAUDE_PROJECT_DIR ?? null;
  const settings = readSettings(invocation, projectDir);
  const rules = "unreadable" in settings ? settings : bashRules(settings);
  const own = pathOutside(env.PATH, projectDir ?? cwd);
  const searchPath = own === env.PATH && env[CLEANED_VARIABLE] === undefined ? null : own;
  const setting = { launch: runningProgram(), searchPath, projectDir, realPath, leaving, rules };
  return await writeOut(invocation, answerText(decide(await readInput(invocation), setting)));
}

const MAX_SETTINGS_BYTES = 4 << 20;

type Settings = readonly SettingsText[] | { readonly unreadable: string };

/** The texts of the settings that Claude Code reads. What it cannot read itself has no rules for it either. */
function readSettings({ env, homeDir, cwd }: Invocation, projectDir: string | null): Settings {
  const project = join(projectDir ?? cwd, ".claude");
  const texts: SettingsText[] = [];
  const ofProject = [join(project, "settings.json"), join(project, "settings.local.json")];
  const users = join(env.CLAUDE_CONFIG_DIR ?? join(homeDir, ".claude"), "settings.json");
  for (const path of [users, ...ofProject, ...managedSettings()]) {
    try {
      const bytes = readRegularFile(path, MAX_SETTINGS_BYTES + 1);
      if (bytes.length > MAX_SETTINGS_BYTES) {
        return { unreadable: `${path} is larger than ${MAX_SETTINGS_BYTES >> 20} MiB` };
      }
      texts.push({ text: bytes.toString("utf8"), isUsers: !ofProject.includes(path) });
    } catch (error) {
      const { code = "", message } = error as NodeJS.ErrnoException;
      if (!["ENOENT", "ENOTDIR", "EACCES"].includes(code)) return { unreadable: `${path}: ${message}` };
    }
  }
  return texts;
}

const MANAGED = "/etc/claude-code";

function managedSettings(): readonly string[] {
  const folder = join(MANAGED, "managed-settings.d");
  const parts = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".json")) : [];
  return [join(MANAGED, "managed-settings.json"), ...parts.map((name) => join(folder, name))];
}

/** Cut off where it is too long: then it is no JSON any more, and refused as such. */
async function readInput({ stdin }: Invocation): Promise<string> {
  const input = stdin.isTerminal ? null : stdin.open();
  if (input === null) return "";
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of input) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length > MAX_INPUT_BYTES) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}
