/** Tar archives made by hand, also such as no tool would make. */
import { BLOCK_BYTES, paddingAfter, tarFileHeader } from "../../src/images/archive/tar-header.js";

export interface MadeEntry {
  readonly name: string;
  readonly content?: Buffer | string;
  readonly type?: string;
  readonly link?: string;
}

export function tarEntry({ name, content = "", type = "0", link = "" }: MadeEntry): Buffer {
  const body = Buffer.from(content);
  const header = tarFileHeader(name, body.length);
  header.write(type, 156);
  header.write(link, 157);
  sign(header);
  return Buffer.concat([header, body, Buffer.alloc(paddingAfter(body.length))]);
}

export function tarArchive(entries: readonly MadeEntry[]): Buffer {
  return Buffer.concat([...entries.map(tarEntry), Buffer.alloc(2 * BLOCK_BYTES)]);
}

/** Makes the checksum right again after a header was changed. */
export function sign(header: Buffer): void {
  header.fill(0x20, 148, 156);
  const sum = header.subarray(0, BLOCK_BYTES).reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
}
