/**
 * The Engine API, as Docker and Podman speak it, over HTTP on a Unix socket. It carries requests and answers and knows
 * nothing of sandboxes. What an engine says is shown to the user only with its control characters made visible.
 */
import { type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";

/** Understood by Docker 20.10 and Podman 4, and everything after. */
const API = "/v1.41";
const MAX_ANSWER_CHARS = 32 << 20;
const MAX_COMPLAINT_CHARS = 500;

interface RequestOptions {
  readonly query?: Readonly<Record<string, string>>;
  /** A value as JSON, or the bytes of an archive. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** A refusal of the engine, with its status. */
export class EngineRefusal extends Error {
  readonly status: number;

  constructor(status: number, complaint: string) {
    super(escapeText(complaint.slice(0, MAX_COMPLAINT_CHARS)));
    this.name = "EngineRefusal";
    this.status = status;
  }
}

export class EngineClient {
  readonly socketPath: string;

  constructor(socketPath: string) {
    this.socketPath = socketPath;
  }

  /**
   * A connection for each request: without an agent of Node's, which compares names with forms of addresses, and that
   * takes longer here than connecting does.
   */
  readonly #connect = (): Socket => connect(this.socketPath);

  async get(path: string, asked: RequestOptions = {}): Promise<unknown> {
    return await this.#json("GET", path, asked);
  }

  async post(path: string, asked: RequestOptions = {}): Promise<unknown> {
    return await this.#json("POST", path, asked);
  }

  async delete(path: string, asked: RequestOptions = {}): Promise<unknown> {
    return await this.#json("DELETE", path, asked);
  }

  /** An answer that comes bit by bit, as lines of JSON. */
  async *lines(path: string, asked: RequestOptions = {}): AsyncGenerator<unknown, void, void> {
    const answer = await this.#ask("POST", path, asked);
    let text = "";
    for await (const part of answer as AsyncIterable<Buffer>) {
      text += part.toString("utf8");
      const parts = text.split("\n");
      text = parts.pop() ?? "";
      for (const line of parts) if (line.trim() !== "") yield JSON.parse(line) as unknown;
    }
    if (text.trim() !== "") yield JSON.parse(text) as unknown;
  }

  /** A connection that carries a container's standard streams from its answer on. */
  hijack(path: string, { query, body, signal }: RequestOptions = {}): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const content = body === undefined ? "" : JSON.stringify(body);
      const asked = request({
        createConnection: this.#connect,
        method: "POST",
        path: address(path, query),
        headers: {
          Host: "engine",
          Connection: "Upgrade",
          Upgrade: "tcp",
          "Content-Type": "application/json",
          "Content-Length": Buffer.byteLength(content),
        },
        ...(signal ? { signal } : {}),
      });
      asked.once("upgrade", (_answer, socket: Socket, head: Buffer) => {
        if (head.length > 0) socket.unshift(head);
        // Its owner listens from now on; until then an error must not end this process.
        socket.on("error", () => {});
        resolve(socket);
      });
      asked.once("response", (answer) => void complaintOf(answer).then(reject, reject));
      asked.once("error", (cause) => reject(signal?.aborted ? signal.reason : this.#unreachable(cause)));
      asked.end(content);
    });
  }

  async #json(method: string, path: string, asked: RequestOptions): Promise<unknown> {
    const answer = await this.#ask(method, path, asked);
    const text = await readText(answer, MAX_ANSWER_CHARS);
    return text.trim() === "" ? null : (JSON.parse(text) as unknown);
  }

  #ask(method: string, path: string, { query, body, signal }: RequestOptions): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const isArchive = Buffer.isBuffer(body);
      const content = body === undefined ? null : isArchive ? body : JSON.stringify(body);
      const length = content === null ? 0 : Buffer.byteLength(content);
      const type = isArchive ? "application/x-tar" : "application/json";
      const headers = { Host: "engine", "Content-Type": type, "Content-Length": length };
      const options = { createConnection: this.#connect, method, path: address(path, query), headers };
      const asked = request({ ...options, ...(signal ? { signal } : {}) }, (answer) => {
        const status = answer.statusCode ?? 0;
        if (status >= 200 && status < 400) resolve(answer);
        else void complaintOf(answer).then(reject, reject);
      });
      asked.once("error", (cause) => reject(signal?.aborted ? signal.reason : this.#unreachable(cause)));
      asked.end(content ?? undefined);
    });
  }

  #unreachable(cause: Error): AgentKernelError {
    const code = "code" in cause ? ` (${cause.code})` : "";
    const message = `the engine at ${escapeText(this.socketPath)} does not answer${code}`;
    const hint = "is it running, and may you use it? `agentkernel doctor` says more";
    return new AgentKernelError("backend_unavailable", message, { hint, cause });
  }
}

function address(path: string, query: RequestOptions["query"]): string {
  const words = new URLSearchParams(query).toString();
  return `${API}${path}${words === "" ? "" : `?${words}`}`;
}

async function complaintOf(answer: IncomingMessage): Promise<EngineRefusal> {
  const text = await readText(answer, 64 << 10);
  let complaint = text.trim();
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && "message" in value) complaint = String(value.message);
  } catch {
    // Not every answer is JSON; then it is taken as it is.
  }
  return new EngineRefusal(answer.statusCode ?? 0, complaint);
}

async function readText(answer: IncomingMessage, maxChars: number): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of answer as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > maxChars) {
      answer.destroy();
      throw new AgentKernelError("internal", "the engine's answer is too long");
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
