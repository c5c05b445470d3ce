/** What lies in the sandbox beside a program so that it can call: constant texts, the same for every run. */

/** Where programs and modules lie. `node_modules` is found from each folder in it. */
export const HOME = "/tmp/code";
export const TYPESCRIPT_AT = "/opt/agentkernel/typescript";

export const nodeRuntime = `import { Socket } from "node:net";

export class ToolError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "ToolError";
    this.code = code;
  }
}

const pending = new Map();
let last = 0;
let rest = "";
let gone = null;
const socket = new Socket({ fd: Number(process.env.AGENTKERNEL_CALLS_FD), readable: true, writable: true });
socket.unref();
socket.setEncoding("utf8");
socket.on("data", (text) => {
  const lines = (rest + text).split("\\n");
  rest = lines.pop();
  for (const line of lines) settle(JSON.parse(line));
});
socket.on("error", () => lose(new ToolError("failed", "the way to the tools is closed")));
socket.on("close", () => lose(new ToolError("failed", "the way to the tools is closed")));

function settle({ id, value, error }) {
  if (id === 0) return lose(new ToolError(error.code, error.message));
  const waiting = pending.get(id);
  pending.delete(id);
  if (pending.size === 0) socket.unref();
  if (error === undefined) waiting?.resolve(value);
  else waiting?.reject(new ToolError(error.code, error.message));
}

function lose(error) {
  gone ??= error;
  for (const { reject } of pending.values()) reject(gone);
  pending.clear();
}

export function call(server, tool, args = {}) {
  if (gone !== null) return Promise.reject(gone);
  return new Promise((resolve, reject) => {
    const id = ++last;
    const line = JSON.stringify({ id, server, tool, args }) + "\\n";
    pending.set(id, { resolve, reject });
    socket.ref();
    socket.write(line);
  });
}
`;

/** Node, started before there is a program: it has loaded what calls need, and waits for the path of the program. */
export const nodeStart = `import { readSync } from "node:fs";
import { pathToFileURL } from "node:url";
import "tools/runtime";

const buffer = Buffer.alloc(4096);
let path = "";
for (let size = 1; size > 0 && !path.endsWith("\\n"); ) {
  size = readSync(0, buffer);
  path += buffer.toString("utf8", 0, size);
}
if (!path.endsWith("\\n")) process.exit(1);
process.argv[1] = path.trim();
await import(pathToFileURL(process.argv[1]).href);
`;

/** The compiler, started before there is a program: its libraries are read while the program's file, a pipe, is empty. */
export const checkerStart = 'exec 3<&0 </dev/null; mkfifo "$1" || exit; cat <&3 >"$1" & exec 3<&-; shift; exec "$@"';

export const toolsPackage = '{"name":"tools","type":"module","exports":{"./*":"./*.js"}}\n';

/** What every module is typed with besides: as much of Node as programs commonly use, without its own declarations. */
export const globals = `declare const console: { log(...data: unknown[]): void; error(...data: unknown[]): void; warn(...data: unknown[]): void; info(...data: unknown[]): void; table(data: unknown): void };
declare const process: { argv: string[]; env: Record<string, string | undefined>; exit(code?: number): never; exitCode: number | undefined; stdout: { write(text: string): boolean }; stderr: { write(text: string): boolean }; hrtime: { bigint(): bigint } };
declare const performance: { now(): number };
declare function setTimeout(handler: (...args: any[]) => void, ms?: number, ...args: unknown[]): any;
declare function clearTimeout(timer: any): void;
declare function setInterval(handler: (...args: any[]) => void, ms?: number, ...args: unknown[]): any;
declare function clearInterval(timer: any): void;
declare function structuredClone<T>(value: T): T;
declare const Buffer: any;
declare const URL: any;
declare const URLSearchParams: any;
declare const TextEncoder: any;
declare const TextDecoder: any;
declare const AbortSignal: any;
declare const AbortController: any;
declare module "node:*";
declare module "tools/runtime" {
  export class ToolError extends Error { readonly code: "denied" | "limit" | "failed" | "not_found" | "invalid" }
}
`;

export const pythonRuntime = `import json, os, socket, threading


class ToolError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


_socket = socket.socket(fileno=int(os.environ["AGENTKERNEL_CALLS_FD"]))
_lines = _socket.makefile("r", encoding="utf-8", newline="\\n")
_lock = threading.Lock()
_last = 0


def call(server, tool, args, more):
    global _last
    given = {key: value for key, value in args.items() if value is not None}
    with _lock:
        _last += 1
        line = json.dumps({"id": _last, "server": server, "tool": tool, "args": {**given, **more}}) + "\\n"
        try:
            _socket.sendall(line.encode())
            answer = _lines.readline()
        except OSError:
            answer = ""
        if answer == "":
            raise ToolError("failed", "the way to the tools is closed")
    told = json.loads(answer)
    if "error" in told:
        raise ToolError(told["error"]["code"], told["error"]["message"])
    return told["value"]
`;
