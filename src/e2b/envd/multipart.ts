/** Forms with files (RFC 7578) as they stream in: no part is held, and what is not a form is refused. */
import { Buffer } from "node:buffer";
import { invalid } from "../errors.js";

interface Part {
  readonly name: string;
  /** "" where it has none. */
  readonly filename: string;
  /** To be read to its end before the next part. */
  readonly content: AsyncIterable<Buffer>;
}

const MAX_HEAD_BYTES = 16_384;
const HEAD_END = Buffer.from("\r\n\r\n");

export async function* readParts(contentType: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Part> {
  const boundary = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;,"]{1,70}))/i.exec(contentType);
  const mark = boundary?.[1] ?? boundary?.[2];
  if (mark === undefined) throw invalid("Content-Type", "names no boundary");
  const source = chunks[Symbol.asyncIterator]();
  const form = new Form(source, Buffer.from(`\r\n--${mark}`));
  try {
    await form.skipToFirst();
    while (await form.hasPart()) yield { ...(await form.head()), content: form.content() };
    // What follows the last part means nothing, but the next request on the connection comes after it.
    while ((await source.next()).done !== true);
  } finally {
    await source.return?.();
  }
}

class Form {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #delimiter: Buffer;
  /** The first delimiter may stand without a line end before it. */
  #held: Buffer = Buffer.from("\r\n");

  constructor(chunks: AsyncIterator<Buffer>, delimiter: Buffer) {
    this.#chunks = chunks;
    this.#delimiter = delimiter;
  }

  async skipToFirst(): Promise<void> {
    for await (const _ of this.content());
  }

  /** After a delimiter: whether another part follows it. */
  async hasPart(): Promise<boolean> {
    while (this.#held.length < 2) await this.#more();
    if (this.#held.subarray(0, 2).equals(Buffer.from("--"))) return false;
    if (!this.#held.subarray(0, 2).equals(Buffer.from("\r\n"))) throw invalid("body", "is not a form");
    return true;
  }

  async head(): Promise<{ readonly name: string; readonly filename: string }> {
    let end = this.#held.indexOf(HEAD_END);
    while (end < 0) {
      if (this.#held.length > MAX_HEAD_BYTES) throw invalid("body", "has a part with too large a head");
      await this.#more();
      end = this.#held.indexOf(HEAD_END);
    }
    const head = this.#held.subarray(0, end).toString("utf8");
    this.#held = this.#held.subarray(end + HEAD_END.length);
    const disposition = /^content-disposition:\s*form-data(.*)$/im.exec(head)?.[1] ?? "";
    return { name: parameter(disposition, "name"), filename: parameter(disposition, "filename") };
  }

  /** Up to the next delimiter, which is taken. */
  async *content(): AsyncGenerator<Buffer> {
    for (;;) {
      const at = this.#held.indexOf(this.#delimiter);
      if (at >= 0) {
        const last = this.#held.subarray(0, at);
        this.#held = this.#held.subarray(at + this.#delimiter.length);
        if (last.length > 0) yield last;
        return;
      }
      // As much as cannot be the beginning of a delimiter.
      const sure = this.#held.length - this.#delimiter.length + 1;
      if (sure > 0) {
        const piece = this.#held.subarray(0, sure);
        this.#held = this.#held.subarray(sure);
        yield piece;
      }
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done === true) throw invalid("body", "ends within a part");
    this.#held = this.#held.length === 0 ? value : Buffer.concat([this.#held, value]);
  }
}

/** Browsers, and the SDKs, write `"` as `%22` in it. */
function parameter(disposition: string, name: string): string {
  const quoted = new RegExp(`;\\s*${name}="((?:[^"\\\\]|\\\\.)*)"`, "i").exec(disposition)?.[1] ?? "";
  return quoted.replace(/\\(["\\])/g, "$1").replace(/%(22|0D|0A)/gi, (code) => decodeURIComponent(code));
}
