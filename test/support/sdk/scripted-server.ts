/** A server that answers each scenario's requests as the scenario says, and remembers what it was asked. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { readScenarios, type ScriptedAnswer } from "./scenarios.js";

interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly atMs: number;
}

export class ScriptedServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #samples: Readonly<Record<string, unknown>>;
  readonly #scripts: ReadonlyMap<string, readonly ScriptedAnswer[]>;
  readonly #seen = new Map<string, SeenRequest[]>();

  private constructor() {
    const { samples, scenarios } = readScenarios();
    this.#samples = samples;
    this.#scripts = new Map(scenarios.map(({ id, script = [] }) => [id, script]));
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
  }

  static async start(): Promise<ScriptedServer> {
    const started = new ScriptedServer();
    await new Promise<void>((resolve) => started.#server.listen(0, "127.0.0.1", resolve));
    return started;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** By the SDK whose name its base URL has. */
  seen(sdk: string, scenario: string): readonly SeenRequest[] {
    return this.#seen.get(`${sdk}/${scenario}`) ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Paths are /sdk/scenario/path. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, sdk = "", scenario = "", ...rest] = (request.url ?? "").split("/");
    const seen = this.#seen.get(`${sdk}/${scenario}`) ?? [];
    this.#seen.set(`${sdk}/${scenario}`, seen);
    const answer = this.#scripts.get(scenario)?.[seen.length] ?? { status: 410, text: "nothing more is scripted" };
    const { method = "" } = request;
    const { authorization } = request.headers;
    seen.push({ method, path: `/${rest.join("/")}`, authorization, atMs: performance.now() });
    for await (const _ of request);
    await this.#play(answer, response, `${this.url}/${sdk}/${scenario}`);
  }

  async #play(answer: ScriptedAnswer, response: ServerResponse, own: string): Promise<void> {
    if (answer.break) response.destroy();
    if (answer.break || answer.hang) return;
    if (answer.delay_ms !== undefined) await pause(answer.delay_ms);
    const headers = Object.entries(answer.headers ?? {}).map(([key, value]) => [key, value.replace("{self}", own)]);
    const pieces = answer.stream ?? (answer.stream_bytes === undefined ? null : bytesOf(answer.stream_bytes));
    const type = pieces !== null ? "text/event-stream" : answer.text === undefined ? "application/json" : "text/html";
    response.writeHead(answer.status ?? 200, { "content-type": type, ...Object.fromEntries(headers) });
    if (pieces === null) response.end(this.#body(answer));
    else await playStream(pieces, response);
  }

  #body({ data, error, text }: ScriptedAnswer): string {
    if (text !== undefined) return text;
    return JSON.stringify(
      error === undefined ? { success: true, data: this.#samples[data ?? ""] } : { success: false, error },
    );
  }
}

type Piece = string | Buffer | { readonly pause_ms?: number; readonly hang?: true };

async function playStream(pieces: readonly Piece[], response: ServerResponse): Promise<void> {
  response.socket?.setNoDelay(true);
  for (const piece of pieces) {
    if (typeof piece === "string" || Buffer.isBuffer(piece)) await new Promise((done) => response.write(piece, done));
    else if (piece.hang) return;
    else await pause(piece.pause_ms);
  }
  response.end();
}

function bytesOf(text: string): readonly Buffer[] {
  return [...Buffer.from(text)].map((byte) => Buffer.of(byte));
}
