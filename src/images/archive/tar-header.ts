/** One header block of a tar archive, read and written. Numbers may be octal text or, when large, binary. */
import { AgentKernelError } from "../../core/errors.js";

export const BLOCK_BYTES = 512;

export interface TarHeader {
  readonly name: string;
  /** The type flag: `0` a file, `1` a hard link, `2` a symbolic link, `x` and `L` words about the next entry. */
  readonly type: string;
  readonly sizeBytes: number;
  readonly linkName: string;
}

export function malformedArchive(why: string): AgentKernelError {
  return new AgentKernelError("image_invalid", `the archive is malformed: ${why}`, {
    hint: "make it again, or check that it came over whole",
  });
}

/** Null for a block of zeros, which ends an archive. */
export function parseTarHeader(block: Buffer): TarHeader | null {
  if (block.every((byte) => byte === 0)) return null;
  if (numberAt(block, 148, 8) !== checksumOf(block)) throw malformedArchive("a header's checksum is wrong");
  const prefix = block.toString("latin1", 257, 262) === "ustar" ? textAt(block, 345, 155) : "";
  const name = textAt(block, 0, 100);
  const type = String.fromCharCode(block[156] ?? 0);
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    type: type === "\0" ? "0" : type,
    sizeBytes: sizeAt(block),
    linkName: textAt(block, 157, 100),
  };
}

/** A plain file of ours, with nothing in it that differs from one machine or day to the next. */
export function tarFileHeader(name: string, sizeBytes: number): Buffer {
  if (Buffer.byteLength(name) > 100) throw new Error(`${name} is too long for a tar header`);
  const block = Buffer.alloc(BLOCK_BYTES);
  block.write(name, 0);
  block.write("0000644\0", 100);
  block.write("0000000\0", 108);
  block.write("0000000\0", 116);
  writeSize(block, sizeBytes);
  block.write("00000000000\0", 136);
  block.write("0", 156);
  block.write("ustar\x0000", 257);
  block.write(`${checksumOf(block).toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

export function paddingAfter(sizeBytes: number): number {
  return (BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES;
}

function writeSize(block: Buffer, sizeBytes: number): void {
  if (sizeBytes < 8 ** 11) {
    block.write(`${sizeBytes.toString(8).padStart(11, "0")}\0`, 124);
    return;
  }
  block[124] = 0x80;
  block.writeBigUInt64BE(BigInt(sizeBytes), 128);
}

function textAt(block: Buffer, start: number, length: number): string {
  const field = block.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? length : end);
}

function numberAt(block: Buffer, start: number, length: number): number {
  const text = (block.toString("latin1", start, start + length).split("\0", 1)[0] ?? "").trim();
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : text === "" ? 0 : Number.NaN;
}

function sizeAt(block: Buffer): number {
  const binary = ((block[124] ?? 0) & 0x80) !== 0;
  const size = binary ? Number(block.readBigUInt64BE(128)) : numberAt(block, 124, 12);
  const clean = !binary || (block[124] === 0x80 && block.readUIntBE(125, 3) === 0);
  if (!clean || !Number.isSafeInteger(size) || size < 0) throw malformedArchive("an entry's size is no number");
  return size;
}

/** The field of the checksum itself counts as blanks. */
function checksumOf(block: Buffer): number {
  let sum = 8 * 32;
  for (let at = 0; at < BLOCK_BYTES; at += 1) if (at < 148 || at >= 156) sum += block[at] ?? 0;
  return sum;
}
