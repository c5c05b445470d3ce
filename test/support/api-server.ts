/** `agentkernel serve` of an actor's, on a free port of loopback, and requests to it. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { type Actor, environmentOf, programOf } from "./actors.js";
import { clientOf } from "./daemon.js";
import { runCli } from "./run-cli.js";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every form
  readonly json: any;
}

export interface Sending {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Null: none. Otherwise, where no header says it, what stands for the user who runs the server. */
  readonly key?: string | null;
  readonly agent?: Agent;
}

export class ApiServer {
  readonly actor: Actor;
  readonly child: ChildProcess;
  readonly ready: Promise<void>;
  readonly exited: Promise<number | null>;
  port = 0;
  stderr = "";

  constructor(actor: Actor, words: readonly string[] = []) {
    // A runtime folder of its own: no other daemon is met there.
    const own = clientOf(actor);
    this.actor = {
      ...own,
      program: programOf(actor),
      variables: { ...own.variables, XDG_STATE_HOME: actor.variables?.XDG_STATE_HOME ?? actor.folder("state") },
    };
    const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
    const [program = "", ...before] = programOf(this.actor);
    this.child = spawn(program, [...before, "serve", "--port", "0", ...words], {
      ...identity,
      cwd: actor.home,
      env: { PATH: process.env.PATH ?? "/usr/bin:/bin", ...environmentOf(this.actor) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child.stderr?.on("data", (chunk: Buffer) => {
      this.stderr += String(chunk);
    });
    this.exited = new Promise((resolve) => this.child.once("close", (status) => resolve(status)));
    this.ready = new Promise((resolve, reject) => {
      this.child.stdout?.once("data", (chunk: Buffer) => {
        this.port = Number(/:(\d+)\s*$/.exec(String(chunk))?.[1]);
        resolve();
      });
      void this.exited.then((status) => reject(new Error(`serve ended with ${status}: ${this.stderr}`)));
    });
    this.ready.catch(() => {});
  }

  static async start(actor: Actor, words: readonly string[] = []): Promise<ApiServer> {
    const server = new ApiServer(actor, words);
    await server.ready;
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  get socketPath(): string {
    return `${this.actor.variables?.XDG_RUNTIME_DIR}/agentkernel/daemon.sock`;
  }

  get stateFolder(): string {
    return `${this.actor.variables?.XDG_STATE_HOME}/agentkernel`;
  }

  /** What stands for the user who runs it. */
  get localToken(): string {
    return readFileSync(`${this.stateFolder}/api-tokens/${this.port}`, "utf8").trim();
  }

  /** A new key of this server's. */
  async key(name: string, words: readonly string[]): Promise<string> {
    const made = await runCli(this.actor, ["keys", "create", ...words, name]);
    if (made.status !== 0) throw new Error(made.stderr);
    return made.stdout.trim();
  }

  async ask(method: string, path: string, sending: Sending = {}): Promise<Answer> {
    const response = await this.open(method, path, sending);
    const parts: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) parts.push(chunk);
    const bytes = Buffer.concat(parts);
    const text = bytes.toString();
    const isJson = /^application\/json/.test(response.headers["content-type"] ?? "");
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      bytes,
      text,
      json: isJson ? JSON.parse(text) : undefined,
    };
  }

  /** The answer's head; its body is for the caller to read. */
  open(method: string, path: string, { headers = {}, body, key, agent }: Sending = {}): Promise<IncomingMessage> {
    const isRaw = typeof body === "string" || Buffer.isBuffer(body);
    const bytes = body === undefined ? undefined : isRaw ? body : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const asked = request(
        {
          host: "127.0.0.1",
          port: this.port,
          method,
          path,
          agent: agent ?? new Agent(),
          headers: {
            ...(bytes === undefined
              ? {}
              : { "content-type": "application/json", "content-length": Buffer.byteLength(bytes) }),
            ...(key === null ? {} : { authorization: `Bearer ${key ?? this.localToken}` }),
            ...headers,
          },
        },
        resolve,
      );
      asked.once("error", reject);
      asked.end(bytes);
    });
  }

  async stop(): Promise<number | null> {
    this.child.kill("SIGTERM");
    return await this.exited;
  }
}

interface SseEvent {
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every form
  readonly data: any;
}

/** Events as they arrive. */
export async function* eventsOf(response: IncomingMessage): AsyncGenerator<SseEvent> {
  let held = "";
  for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) {
    held += chunk;
    for (let end = held.indexOf("\n\n"); end >= 0; end = held.indexOf("\n\n")) {
      const block = held.slice(0, end);
      held = held.slice(end + 2);
      const event = /^event: (.*)$/m.exec(block)?.[1];
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) };
    }
  }
}
