/** A registry in this process, on loopback, that does what it is told: also what a hostile or a broken one does. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { MadeDocument, MadeImage } from "./registry-image.js";

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
  readonly range: string | undefined;
  readonly body: string;
}

/** True where it answered; otherwise the registry does as usual. */
type Script = (request: SeenRequest, response: ServerResponse) => boolean;

export interface TlsIdentity {
  readonly key: Buffer;
  readonly cert: Buffer;
}

export class ScriptedRegistry {
  readonly seen: SeenRequest[] = [];
  /** Asked before the usual answers. */
  script: Script = () => false;
  readonly #server: Server;
  readonly #manifests = new Map<string, MadeDocument>();
  readonly #blobs = new Map<string, MadeDocument>();

  readonly #address: string;

  private constructor(tls: TlsIdentity | null, address: string) {
    this.#address = address;
    const listener = (request: IncomingMessage, response: ServerResponse): void => {
      void this.#answer(request, response);
    };
    this.#server = tls === null ? createServer(listener) : createTlsServer({ ...tls }, listener);
  }

  /** Elsewhere than on loopback only in a network of the test's own. */
  static async start(tls: TlsIdentity | null = null, address = "127.0.0.1"): Promise<ScriptedRegistry> {
    const registry = new ScriptedRegistry(tls, address);
    await new Promise<void>((resolve) => registry.#server.listen(0, address, resolve));
    return registry;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get host(): string {
    return `${this.#address}:${this.port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  addImage(name: string, tag: string, image: MadeImage): void {
    this.addManifest(name, tag, image.manifest);
    for (const blob of [image.config, ...image.layers]) this.#blobs.set(`${name}/blobs/${blob.digest}`, blob);
  }

  addManifest(name: string, tag: string, manifest: MadeDocument): void {
    this.#manifests.set(`${name}/manifests/${tag}`, manifest);
    this.#manifests.set(`${name}/manifests/${manifest.digest}`, manifest);
  }

  requestsFor(part: string): SeenRequest[] {
    return this.seen.filter(({ url }) => url.includes(part));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) parts.push(chunk);
    const seen: SeenRequest = {
      method: request.method ?? "",
      url: request.url ?? "",
      authorization: request.headers.authorization,
      range: request.headers.range,
      body: Buffer.concat(parts).toString(),
    };
    this.seen.push(seen);
    if (this.script(seen, response)) return;
    const path = seen.url.replace(/^\/v2\//, "");
    const found = this.#manifests.get(path) ?? this.#blobs.get(path);
    if (seen.url === "/v2/") response.writeHead(200).end("{}");
    else if (found === undefined) response.writeHead(404).end('{"errors":[{"code":"NOT_FOUND"}]}');
    else sendDocument(found, seen, response);
  }
}

function sendDocument(found: MadeDocument, { method, range }: SeenRequest, response: ServerResponse): void {
  const start = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0);
  const total = found.bytes.length;
  response.writeHead(start > 0 ? 206 : 200, {
    "content-type": found.mediaType,
    "content-length": total - start,
    "docker-content-digest": found.digest,
    ...(start > 0 ? { "content-range": `bytes ${start}-${total - 1}/${total}` } : {}),
  });
  response.end(method === "HEAD" ? undefined : found.bytes.subarray(start));
}
