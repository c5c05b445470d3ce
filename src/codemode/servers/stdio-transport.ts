/**
 * A server as a process of the host's, spoken to in lines. What it writes is bounded: a line that is too long is left
 * out, and of what it complains about only the end is kept. Its process group ends with the connection.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { messageLines, parseLine } from "../../mcp/stdio/message-lines.js";
import type { StdioEntry } from "./entries.js";

const MAX_LINE_BYTES = 16 << 20;
const KEPT_CHARS = 600;
/** How long a server that was told to end may take. */
const GRACE_MS = 2000;

export interface Surroundings {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export class StdioTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onerror?: (error: Error) => void;
  onclose?: () => void;
  readonly #entry: StdioEntry;
  readonly #around: Surroundings;
  #child: ChildProcess | null = null;
  #exited: Promise<void> = Promise.resolve();
  #complaint = "";
  #garbage = "";
  #end: string | null = null;
  #isClosed = false;

  constructor(entry: StdioEntry, around: Surroundings) {
    this.#entry = entry;
    this.#around = around;
  }

  /** What is known of why it does not answer. */
  get trouble(): string {
    const garbage = this.#garbage === "" ? "" : `it wrote what is no message: ${this.#garbage}`;
    const complaint = this.#complaint.trim();
    const said = complaint === "" ? "" : `its last words: ${complaint}`;
    return [this.#end, garbage, said].filter((part) => part !== null && part !== "").join("; ");
  }

  async start(): Promise<void> {
    const { command, args, env } = this.#entry;
    const child = spawn(command, args, {
      cwd: this.#around.cwd,
      env: { ...this.#around.env, ...env },
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    this.#child = child;
    this.#exited = new Promise((resolve) => child.once("close", () => resolve()));
    child.once("exit", (code, signal) => {
      this.#end = `it ended with ${code === null ? `signal ${signal}` : `status ${code}`}`;
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (cause) => reject(new Error(`${command} cannot be started: ${cause.message}`)));
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      this.#complaint = (this.#complaint + chunk.toString("utf8")).slice(-KEPT_CHARS);
    });
    // A server that is gone is known by its end.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on("error", () => {});
    void this.#read(child);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const input = this.#child?.stdin;
    if (!input?.writable || this.#isClosed) throw new Error("the server is gone");
    if (!input.write(`${JSON.stringify(message)}\n`)) {
      await new Promise<void>((resolve) => input.once("drain", resolve).once("close", resolve));
    }
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (this.#isClosed || child === null) return;
    this.#isClosed = true;
    child.stdin?.end();
    this.#signal(child, "SIGTERM");
    const timer = setTimeout(() => this.#signal(child, "SIGKILL"), GRACE_MS);
    child.stdout?.resume();
    await this.#exited;
    clearTimeout(timer);
    // What it has started and not ended is in its group.
    this.#signal(child, "SIGKILL");
    this.onclose?.();
  }

  async #read(child: ChildProcess): Promise<void> {
    if (child.stdout === null) return;
    try {
      for await (const line of messageLines(child.stdout, MAX_LINE_BYTES)) {
        const parsed = parseLine(line);
        if (parsed === null || this.#isClosed) continue;
        if ("message" in parsed) this.onmessage?.(parsed.message as unknown as JSONRPCMessage);
        else this.#garbage = "bytes" in line ? line.bytes.toString("utf8").slice(0, 120) : parsed.fault.error.message;
      }
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
    await this.#exited;
    await this.close();
  }

  #signal(child: ChildProcess, signal: NodeJS.Signals): void {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, signal);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) this.onerror?.(error as Error);
    }
  }
}
