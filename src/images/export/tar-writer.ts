/** Writes a tar archive of plain files to a stream, as fast as its reader takes it. */
import { once } from "node:events";
import type { Writable } from "node:stream";
import { BLOCK_BYTES, paddingAfter, tarFileHeader } from "../archive/tar-header.js";

export class TarWriter {
  readonly #out: Writable;
  readonly #signal: AbortSignal | undefined;
  #failure: Error | null = null;

  constructor(out: Writable, signal?: AbortSignal) {
    this.#out = out;
    this.#signal = signal;
    out.on("error", (error) => {
      this.#failure ??= error;
    });
  }

  async add(name: string, sizeBytes: number, content: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<void> {
    await this.#write(tarFileHeader(name, sizeBytes));
    let written = 0;
    for await (const part of content) {
      await this.#write(part);
      written += part.length;
    }
    if (written !== sizeBytes) throw new Error(`${name} has ${written} bytes and was announced with ${sizeBytes}`);
    await this.#write(Buffer.alloc(paddingAfter(sizeBytes)));
  }

  /** The end of the archive; the stream stays open. */
  async finish(): Promise<void> {
    await this.#write(Buffer.alloc(2 * BLOCK_BYTES));
  }

  async #write(bytes: Buffer): Promise<void> {
    if (this.#failure !== null) throw this.#failure;
    if (bytes.length === 0 || this.#out.write(bytes)) return;
    // Rejects where the stream fails instead.
    await once(this.#out, "drain", this.#signal === undefined ? {} : { signal: this.#signal });
  }
}
