/** Our MCP server as agents name it in their configuration, and how risky each of its tools is. */
import { basename } from "node:path";
import type { Launch } from "./agent.js";

export const SERVER_NAME = "agentkernel";

const SERVER_WORDS = ["mcp", "server"] as const;

export interface ServerCommand {
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
  "sandbox_start",
  "sandbox_stop",
] as const;

/** These make, change or destroy what stays. */
export const askedTools = ["sandbox_create", "sandbox_session_create", "sandbox_file_write", "sandbox_remove"] as const;

/** A command that starts our MCP server, from wherever. */
export function startsServer(words: readonly unknown[]): boolean {
  const [program, ...args] = words;
  return (
    typeof program === "string" &&
    args.slice(-SERVER_WORDS.length).join(" ") === SERVER_WORDS.join(" ") &&
    (args.length > SERVER_WORDS.length || basename(program) === SERVER_NAME)
  );
}

/** Of the form that most agents have: `{ command, args }`. */
export function isServerEntry(value: unknown): boolean {
  const { command, args } = fieldsOf(value);
  return Array.isArray(args) && startsServer([command, ...args]);
}

/** The entry starts exactly this, whatever the user has added to it. */
export function startsBy(value: unknown, wanted: ServerCommand): boolean {
  const { command, args } = fieldsOf(value);
  return command === wanted.command && JSON.stringify(args) === JSON.stringify(wanted.args);
}

export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
