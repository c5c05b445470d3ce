/** Entries of a tar archive, written. What the old form cannot hold goes into an extended header before it. */
import { Buffer } from "node:buffer";
import { BLOCK_BYTES, paddingAfter } from "../../images/archive/tar-header.js";

interface TarEntryHead {
  readonly name: string;
  /** `0` a file, `2` a symbolic link, `5` a folder. */
  readonly type: "0" | "2" | "5" | "x";
  readonly mode: number;
  readonly mtimeMs: number;
  readonly sizeBytes: number;
  readonly linkName?: string;
}

const MAX_OCTAL_SIZE = 8 ** 11;

export const tarEnd: Buffer = Buffer.alloc(2 * BLOCK_BYTES);

export function tarPadding(sizeBytes: number): Buffer {
  return Buffer.alloc(paddingAfter(sizeBytes));
}

export function tarHeader(entry: TarEntryHead): Buffer {
  const { name, linkName = "", sizeBytes } = entry;
  const extras = [
    ...(fits(name) ? [] : [paxRecord("path", name)]),
    ...(fits(linkName) ? [] : [paxRecord("linkpath", linkName)]),
    ...(sizeBytes < MAX_OCTAL_SIZE ? [] : [paxRecord("size", String(sizeBytes))]),
  ];
  const plain = headerBlock({
    ...entry,
    name: cut(name),
    linkName: cut(linkName),
    sizeBytes: sizeBytes % MAX_OCTAL_SIZE,
  });
  if (extras.length === 0) return plain;
  const body = Buffer.concat(extras);
  const head = headerBlock({ name: "PaxHeader", type: "x", mode: 0o644, mtimeMs: 0, sizeBytes: body.length });
  return Buffer.concat([head, body, tarPadding(body.length), plain]);
}

function fits(text: string): boolean {
  return Buffer.byteLength(text) <= 100;
}

function cut(text: string): string {
  return fits(text)
    ? text
    : Buffer.from(text)
        .subarray(0, 90)
        .toString("latin1")
        .replace(/[^\x20-\x7e]/g, "_");
}

/** Its length counts itself. */
function paxRecord(key: string, value: string): Buffer {
  const rest = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(rest) + 1;
  while (String(length).length + Buffer.byteLength(rest) !== length) {
    length = String(length).length + Buffer.byteLength(rest);
  }
  return Buffer.from(`${length}${rest}`);
}

function headerBlock({ name, type, mode, mtimeMs, sizeBytes, linkName = "" }: TarEntryHead): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  block.write(name, 0, 100);
  block.write(octal(mode & 0o7777, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(sizeBytes, 11), 124);
  block.write(octal(Math.min(8 ** 11 - 1, Math.max(0, Math.floor(mtimeMs / 1000))), 11), 136);
  block.write("        ", 148);
  block.write(type, 156);
  block.write(linkName, 157, 100);
  block.write("ustar\x0000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}
