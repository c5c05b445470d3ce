/**
 * The user's own rules for single Bash commands, `Bash(git push:*)` in `deny` or `ask` of Claude Code's settings. Claude
 * Code holds them against the command that the hook gives back, in which it cannot find them any more; so the hook holds
 * them against the command that was asked for. Pure. In doubt a rule matches: it only ever makes things stricter.
 */
import { scriptCommands } from "../../detect/shell-script.js";
import { unwrap } from "../../detect/wrappers.js";
import { fieldsOf } from "../mcp-entry.js";

export interface BashRules {
  readonly deny: readonly string[];
  readonly ask: readonly string[];
}

/** From texts of settings files. One that is no JSON has no rules for Claude Code either. */
export function bashRules(settings: readonly string[]): BashRules {
  const lists = settings.map((text) => fieldsOf(fieldsOf(parse(text)).permissions));
  const patterns = (list: unknown): readonly string[] =>
    Array.isArray(list) ? list.flatMap((rule) => (typeof rule === "string" ? patternOf(rule) : [])) : [];
  return {
    deny: lists.flatMap(({ deny }) => patterns(deny)),
    ask: lists.flatMap(({ ask }) => patterns(ask)),
  };
}

/** The first pattern that the command, or a command in it, matches. */
export function matchingRule(patterns: readonly string[], command: string): string | null {
  if (patterns.length === 0) return null;
  const lines = commandLines(command);
  return patterns.find((pattern) => lines.some((line) => matches(pattern, line))) ?? null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** `Bash` alone is about the tool, and Claude Code's own business still. */
function patternOf(rule: string): readonly string[] {
  const inner = /^Bash\((.+)\)$/s.exec(rule)?.[1];
  return inner === undefined ? [] : [inner];
}

/** The whole, each command in it, and what stands behind `env`, `timeout` and the like, also in a `sh -c`. */
function commandLines(command: string, depth = 0): readonly string[] {
  const inner = scriptCommands(command).flatMap((words) => {
    const behind = unwrap(words);
    const own = [words.join(" "), ...(behind !== null && "words" in behind ? [behind.words.join(" ")] : [])];
    const scripts = words.filter((_, index) => /^-\w*c$/.test(words[index - 1] ?? ""));
    return [...own, ...(depth < 3 ? scripts.flatMap((script) => commandLines(script, depth + 1)) : [])];
  });
  return [command.trim(), ...inner];
}

/** `npm run:*` is a beginning of whole words, `*` anywhere stands for anything. */
function matches(pattern: string, line: string): boolean {
  const prefix = /^(.*):\*$/s.exec(pattern)?.[1];
  if (prefix !== undefined) return line === prefix || line.startsWith(`${prefix} `);
  // "git *" is also "git" alone.
  return isGlob(pattern, line) || (pattern.endsWith(" *") && line === pattern.slice(0, -2));
}

/** In one pass, whatever a project's settings and a model's command are made of. */
function isGlob(pattern: string, line: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return line === pattern;
  if (!line.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const found = line.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return line.length - last.length >= at && line.endsWith(last);
}
