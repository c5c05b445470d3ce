/** Archives that a kernel unpacks as its first filesystem (cpio, "newc"). The same entries are the same bytes. Pure. */

export interface CpioEntry {
  /** Without a leading slash. */
  readonly path: string;
  /** Type and permissions. */
  readonly mode: number;
  readonly content?: Buffer;
  /** Of a device: its two numbers. */
  readonly device?: readonly [major: number, minor: number];
}

export const FOLDER = 0o040000;
export const FILE = 0o100000;
export const CHARACTER_DEVICE = 0o020000;
const TRAILER = "TRAILER!!!";

/** Entries in their order. Archives may follow each other in one file. */
export function cpioArchive(entries: readonly CpioEntry[]): Buffer {
  const parts = entries.flatMap((entry, index) => entryParts(entry, index + 1));
  return Buffer.concat([...parts, ...entryParts({ path: TRAILER, mode: 0 }, 0)]);
}

function entryParts({ path, mode, content = Buffer.alloc(0), device = [0, 0] }: CpioEntry, inode: number): Buffer[] {
  const name = Buffer.from(`${path}\0`);
  const isFolder = (mode & 0o170000) === FOLDER;
  const fields = [
    ...[inode, mode, 0, 0, isFolder ? 2 : 1, 0, content.length],
    // On no device, of no checksum.
    ...[0, 0, ...device, name.length, 0],
  ];
  const header = Buffer.from(`070701${fields.map(hexadecimal).join("")}`, "latin1");
  return [header, name, padding(header.length + name.length), content, padding(content.length)];
}

function hexadecimal(field: number): string {
  return field.toString(16).padStart(8, "0");
}

function padding(length: number): Buffer {
  return Buffer.alloc((4 - (length % 4)) % 4);
}
