/** Our MCP server as agents name it in their configuration, and how risky each of its tools is. */
import { basename } from "node:path";
import type { Launch } from "./agent.js";

export const SERVER_NAME = "agentkernel";

const SERVER_WORDS = ["mcp", "server"] as const;

interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
}

export function serverCommand([command, ...words]: Launch): ServerCommand {
  return { command, args: [...words, ...SERVER_WORDS] };
}

/** These only look, or act within a sandbox that is there. */
export const calmTools = [
  "sandbox_list",
  "sandbox_file_read",
  "sandbox_run",
  "sandbox_exec",
  "sandbox_background",
  "sandbox_logs",
  "sandbox_kill",
  "sandbox_diff",
  "sandbox_start",
  "sandbox_stop",
] as const;

/** These make, change or destroy what stays. */
export const askedTools = ["sandbox_create", "sandbox_session_create", "sandbox_file_write", "sandbox_remove"] as const;

/** A command that starts our MCP server, from wherever, with whatever options its user has added. */
export function startsServer(words: readonly unknown[]): boolean {
  const [program, ...args] = words;
  const at = serverWordsAt(args);
  return typeof program === "string" && at >= 0 && (at > 0 || basename(program) === SERVER_NAME);
}

/** What the command has besides: options of `mcp server`. */
export function serverOptions(words: readonly unknown[]): readonly unknown[] {
  const at = serverWordsAt(words);
  return at < 0 ? [] : words.slice(at + SERVER_WORDS.length);
}

function serverWordsAt(words: readonly unknown[]): number {
  const isAt = (at: number) => SERVER_WORDS.every((word, index) => words[at + index] === word);
  const at = words.findIndex((_, index) => isAt(index));
  const [next] = at < 0 ? [] : words.slice(at + SERVER_WORDS.length);
  return next === undefined || String(next).startsWith("-") ? at : -1;
}

/** Of the form that most agents have: `{ command, args }`. */
export function isServerEntry(value: unknown): boolean {
  const { command, args } = fieldsOf(value);
  return Array.isArray(args) && startsServer([command, ...args]);
}

/** The entry starts this, whatever the user has added to it. */
export function startsBy(value: unknown, wanted: ServerCommand): boolean {
  const { command, args } = fieldsOf(value);
  return Array.isArray(args) && areWords([command, ...args], [wanted.command, ...wanted.args]);
}

export function areWords(words: readonly unknown[], wanted: readonly string[]): boolean {
  return startsServer(words) && wanted.every((word, index) => words[index] === word);
}

export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
