/** `serve --e2b`, asked as E2B's SDKs ask it, byte by byte. */
import type { Actor } from "../actors.js";
import { type Answer, ApiServer, type Sending } from "../api-server.js";
import { runCli } from "../run-cli.js";

export interface RawSandbox {
  readonly sandboxID: string;
  readonly envdAccessToken: string;
  readonly trafficAccessToken: string;
  readonly domain: string;
}

interface Frame {
  readonly flags: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every form
  readonly message: any;
}

export class E2bServer {
  readonly api: ApiServer;

  private constructor(api: ApiServer) {
    this.api = api;
  }

  static async start(actor: Actor, words: readonly string[] = []): Promise<E2bServer> {
    return new E2bServer(await ApiServer.start(actor, ["--e2b", ...words]));
  }

  /** A new key, as E2B's SDKs take it. */
  async key(name: string, words: readonly string[] = []): Promise<string> {
    const made = await runCli(this.api.actor, ["keys", "create", "--e2b", ...words, name]);
    if (made.status !== 0) throw new Error(made.stderr);
    return made.stdout.trim();
  }

  control(key: string, method: string, path: string, body?: unknown): Promise<Answer> {
    return this.api.ask(method, path, {
      key: null,
      headers: { "x-api-key": key },
      ...(body === undefined ? {} : { body }),
    });
  }

  async create(key: string, body: object = {}): Promise<RawSandbox> {
    const made = await this.control(key, "POST", "/v2/sandboxes", { templateID: "base", timeout: 300, ...body });
    if (made.status !== 201) throw new Error(`${made.status} ${made.text}`);
    return made.json;
  }

  envd(
    sandbox: Pick<RawSandbox, "sandboxID" | "envdAccessToken">,
    method: string,
    path: string,
    sending: Sending = {},
  ) {
    const headers = {
      "e2b-sandbox-id": sandbox.sandboxID,
      "e2b-sandbox-port": "49983",
      "x-access-token": sandbox.envdAccessToken,
      ...sending.headers,
    };
    return this.api.ask(method, path, { ...sending, key: null, headers });
  }

  rpc(sandbox: Pick<RawSandbox, "sandboxID" | "envdAccessToken">, method: string, message: object = {}) {
    return this.envd(sandbox, "POST", `/${method}`, { body: message });
  }

  /** All messages that a stream answers, up to its end. */
  async stream(sandbox: RawSandbox, method: string, message: object | Buffer, headers = {}): Promise<readonly Frame[]> {
    const body = Buffer.isBuffer(message) ? message : envelope(message);
    const answer = await this.envd(sandbox, "POST", `/${method}`, {
      body,
      headers: { "content-type": "application/connect+json", ...headers },
    });
    return framesOf(answer.bytes);
  }

  /** What `sh -c` prints, and its end. */
  async run(
    sandbox: RawSandbox,
    script: string,
    envs = {},
  ): Promise<{ readonly stdout: string; readonly end: Frame["message"] }> {
    const process = { cmd: "/bin/bash", args: ["-l", "-c", script], envs };
    const frames = await this.stream(sandbox, "process.Process/Start", { process, stdin: false });
    const pieces = frames.map(({ message }) => Buffer.from(message.event?.data?.stdout ?? "", "base64"));
    return {
      stdout: Buffer.concat(pieces).toString(),
      end: frames.find(({ message }) => message.event?.end)?.message.event.end,
    };
  }

  /** Over a name of a host, as a browser would ask. */
  byHost(host: string, path = "/", headers = {}): Promise<Answer> {
    return this.api.ask("GET", path, { key: null, headers: { host, ...headers } });
  }

  stop(): Promise<number | null> {
    return this.api.stop();
  }
}

export function envelope(message: object | Buffer, flags = 0): Buffer {
  const body = Buffer.isBuffer(message) ? message : Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

function framesOf(bytes: Buffer): readonly Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = bytes.readUInt32BE(at + 1);
    frames.push({ flags: bytes[at] ?? 0, message: JSON.parse(bytes.subarray(at + 5, at + 5 + size).toString()) });
    at += 5 + size;
  }
  return frames;
}
