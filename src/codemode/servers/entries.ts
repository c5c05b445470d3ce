/**
 * Which MCP servers there are, from texts of `.mcp.json` files and from flags. Pure. What is not understood is an error
 * that names the server and the field: a server that is silently left out would be missed much later.
 */
import { AgentKernelError } from "../../core/errors.js";

export interface StdioEntry {
  readonly kind: "stdio";
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

interface HttpEntry {
  readonly kind: "http";
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type ServerEntry = StdioEntry | HttpEntry;

type Env = Readonly<Record<string, string | undefined>>;
type Fields = Readonly<Record<string, unknown>>;

const NAME = /^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$/;

/** `file` is for messages. `${NAME}` and `${NAME:-otherwise}` are filled in from `env`. */
export function entriesOf(text: string, file: string, env: Env): readonly ServerEntry[] {
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch (cause) {
    throw wrong(file, "this is not JSON", "see docs/code-mode.md for an example", cause);
  }
  const servers = isFields(root) ? root.mcpServers : undefined;
  if (!isFields(servers)) throw wrong(file, "it has no object mcpServers", 'write {"mcpServers": {"name": {…}}}');
  return Object.entries(servers).map(([name, value]) => entryOf(name, value, `${file}: mcpServers.${name}`, env));
}

/** `NAME=URL`, or `NAME=COMMAND WORD…`, whose words are separated by spaces. */
export function entryOfFlag(flag: string, env: Env): ServerEntry {
  const [, name, rest] = /^([^=]+)=(.+)$/.exec(flag) ?? [];
  if (name === undefined || rest === undefined) {
    throw wrong("--mcp-server", `${JSON.stringify(flag)} is not NAME=COMMAND or NAME=URL`, "example: files=node fs.js");
  }
  const [command = "", ...args] = rest.trim().split(/\s+/);
  const value = /^https?:\/\//.test(rest) ? { url: rest } : { command, args };
  return entryOf(name, value, `--mcp-server ${name}`, env);
}

function entryOf(name: string, value: unknown, where: string, env: Env): ServerEntry {
  if (!NAME.test(name)) throw wrong(where, "the name is not usable", "use letters, digits, dots, dashes, underscores");
  if (!isFields(value)) throw wrong(where, "it is not an object", 'write {"command": …} or {"url": …}');
  const { type, command, url } = value;
  const filled = (text: string, field: string) => fill(text, `${where}.${field}`, env);
  if (typeof url === "string" && command === undefined) {
    if (type !== undefined && type !== "http" && type !== "streamable-http") {
      throw wrong(`${where}.type`, `${JSON.stringify(type)} is not served`, 'use "http"');
    }
    const address = filled(url, "url");
    if (!/^https?:\/\//.test(address) || !URL.canParse(address)) {
      throw wrong(`${where}.url`, "it is not an http or https address", "example: https://example.com/mcp");
    }
    return { kind: "http", name, url: address, headers: textsOf(value.headers, `${where}.headers`, filled, "headers") };
  }
  if (typeof command !== "string" || command === "" || url !== undefined) {
    throw wrong(where, "it has to have either command or url", "a text each, and not both");
  }
  if (type !== undefined && type !== "stdio") throw wrong(`${where}.type`, "it does not fit command", 'use "stdio"');
  const args = value.args ?? [];
  if (!Array.isArray(args) || !args.every((word) => typeof word === "string")) {
    throw wrong(`${where}.args`, "it is not a list of texts", "leave it out where there are none");
  }
  return {
    kind: "stdio",
    name,
    command: filled(command, "command"),
    args: args.map((word: string) => filled(word, "args")),
    env: textsOf(value.env, `${where}.env`, filled, "env"),
  };
}

function textsOf(value: unknown, where: string, fillIn: (text: string, field: string) => string, field: string) {
  if (value === undefined) return {};
  if (!isFields(value)) throw wrong(where, "it is not an object", "names and texts");
  const texts = Object.entries(value).map(([key, text]) => {
    if (typeof text !== "string") throw wrong(`${where}.${key}`, "it is not a text", "write it in quotes");
    return [key, fillIn(text, `${field}.${key}`)] as const;
  });
  return Object.fromEntries(texts);
}

function fill(text: string, where: string, env: Env): string {
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (_, name: string, otherwise?: string) => {
    const value = env[name] ?? otherwise;
    if (value !== undefined) return value;
    throw wrong(where, `the variable ${name} is not set`, `set it, or write \${${name}:-value}`);
  });
}

/** What must never be shown: whatever a server is given to identify itself with. */
export function secretsOf(entry: ServerEntry): readonly string[] {
  const values = Object.values(entry.kind === "stdio" ? entry.env : entry.headers);
  return values.flatMap((value) => [value, value.replace(/^(?:Bearer|Basic|Token)\s+/i, "")]);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function wrong(where: string, why: string, hint: string, cause?: unknown): AgentKernelError {
  return new AgentKernelError("invalid_argument", `${where}: ${why}`, { hint, cause });
}
