/**
 * The user's own rules for single shell commands, `Bash(git push:*)` in `deny`, `ask` or `allow` of Claude Code's settings.
 * Claude Code holds them against the command that the hook gives back, in which it cannot find them any more; so the hook
 * holds them against the command that was asked for. Pure. In doubt a rule that denies or asks matches, and one that
 * allows does not.
 */
import { fieldsOf } from "../mcp-entry.js";
import { isReader, writesByRedirection } from "./reading-commands.js";
import { commandLines } from "./shell-commands.js";
import { ANYTHING, readScript } from "./shell-reader.js";

export interface BashRules {
  readonly deny: readonly string[];
  readonly ask: readonly string[];
  /** Only the user's own files and managed ones: a project does not answer in the user's place. */
  readonly allow: readonly string[];
}

/** What the rules say of a command. */
interface Judgement {
  readonly verdict: "deny" | "ask" | "unclear" | "none";
  /** As a sentence about "it". */
  readonly reason: string;
}

/** A settings file, and whether the user (or whoever manages the machine) wrote it, not the project. */
export interface SettingsText {
  readonly text: string;
  readonly isUsers: boolean;
}

/** One that is no JSON has no rules for Claude Code either. */
export function bashRules(settings: readonly SettingsText[]): BashRules {
  const lists = settings.map(({ text, isUsers }) => ({ isUsers, ...permissionsIn(text) }));
  const patterns = (list: unknown): readonly string[] =>
    Array.isArray(list) ? list.flatMap((rule) => (typeof rule === "string" ? patternOf(rule) : [])) : [];
  return {
    deny: lists.flatMap(({ deny }) => patterns(deny)),
    ask: lists.flatMap(({ ask }) => patterns(ask)),
    allow: lists.flatMap(({ allow, isUsers }) => (isUsers ? [...patterns(allow), ...wholeTool(allow)] : [])),
  };
}

function permissionsIn(text: string): { readonly deny?: unknown; readonly ask?: unknown; readonly allow?: unknown } {
  return fieldsOf(fieldsOf(parse(text)).permissions);
}

function wholeTool(list: unknown): readonly string[] {
  return Array.isArray(list) && list.includes("Bash") ? ["*"] : [];
}

/** Whether the user allows each of its commands that does more than read. No rule allows what is known only when it runs. */
export function isAllowed({ allow }: Pick<BashRules, "allow">, script: string): boolean {
  if (allow.includes("*")) return true;
  if (allow.length === 0 || writesByRedirection(script)) return false;
  const { commands, unclear } = readScript(script);
  if (unclear !== null || commands.length === 0) return false;
  return commands.every((one) => {
    const line = one.words.join(" ");
    return isReader(one) || (!line.includes(ANYTHING) && allow.some((pattern) => matches(pattern, line)));
  });
}

export function judge({ deny, ask }: BashRules, command: string): Judgement {
  if (deny.length + ask.length === 0) return { verdict: "none", reason: "" };
  const { lines: found, unclear } = commandLines(command);
  const lines = [...new Set([command.trim(), ...found])];
  const rule = (patterns: readonly string[], holds: typeof matches) =>
    patterns.find((pattern) => lines.some((line) => holds(pattern, line)));
  const denied = rule(deny, matches);
  if (denied !== undefined) return { verdict: "deny", reason: `your rule Bash(${denied}) denies it` };
  if (unclear !== null)
    return { verdict: "unclear", reason: `your rules cannot be held against all of it, since ${unclear}` };
  const possible = rule(deny, mayMatch);
  if (possible !== undefined)
    return { verdict: "unclear", reason: `what it expands to may be what your rule Bash(${possible}) denies` };
  const asked = rule(ask, (pattern, line) => matches(pattern, line) || mayMatch(pattern, line));
  if (asked !== undefined) return { verdict: "ask", reason: `your rule Bash(${asked}) asks about this command` };
  return { verdict: "none", reason: "" };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    return null;
  }
}

/** `Bash` alone is about the tool, and Claude Code's own business still. */
function patternOf(rule: string): readonly string[] {
  const inner = /^(?:Bash|Monitor)\((.+)\)$/s.exec(rule)?.[1];
  return inner === undefined ? [] : [inner];
}

/** `npm run:*` is a beginning of whole words, `*` anywhere stands for anything. */
function matches(pattern: string, line: string): boolean {
  const prefix = prefixOf(pattern);
  if (prefix !== undefined) return line === prefix || line.startsWith(`${prefix} `);
  // "git *" is also "git" alone.
  return isGlob(pattern, line) || (pattern.endsWith(" *") && line === pattern.slice(0, -2));
}

/** Whether some text in place of what is not known would make it match, as far as the beginning and the end tell. */
function mayMatch(pattern: string, line: string): boolean {
  const first = line.indexOf(ANYTHING);
  if (first < 0) return false;
  const known = line.slice(0, first);
  const prefix = prefixOf(pattern);
  const head = prefix ?? pattern.split("*", 1)[0] ?? "";
  if (head.startsWith(known) || head === known.trimEnd()) return true;
  if (prefix !== undefined || !pattern.includes("*") || !known.startsWith(head)) return false;
  const tail = pattern.slice(pattern.lastIndexOf("*") + 1);
  const end = line.slice(line.lastIndexOf(ANYTHING) + 1);
  return end.endsWith(tail) || tail.endsWith(end);
}

function prefixOf(pattern: string): string | undefined {
  return /^(.*):\*$/s.exec(pattern)?.[1];
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
