/** Answers for a scripted registry, and a place in memory for a blob. */
import type { ServerResponse } from "node:http";
import type { BlobSink } from "../../src/images/registry/blob-download.js";
import type { SeenRequest } from "./registry-scripted.js";

export const reply =
  (status: number, headers: Record<string, string> = {}, body: string | Buffer = "") =>
  (response: ServerResponse): true => {
    response.writeHead(status, headers).end(body);
    return true;
  };

export const redirect = (location: string): ((response: ServerResponse) => true) => reply(307, { location });

export const isManifest = ({ url }: SeenRequest): boolean => url.includes("/manifests/");
export const isBlob = ({ url }: SeenRequest): boolean => url.includes("/blobs/");

export class MemorySink implements BlobSink {
  bytes = Buffer.alloc(0);

  get offset(): number {
    return this.bytes.length;
  }

  async write(chunk: Buffer): Promise<void> {
    this.bytes = Buffer.concat([this.bytes, chunk]);
  }

  async restart(): Promise<void> {
    this.bytes = Buffer.alloc(0);
  }
}
