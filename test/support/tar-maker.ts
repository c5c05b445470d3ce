/** Tar archives made by hand, honest and hostile ones. */

export interface TarItem {
  readonly name: string;
  /** As in a header: 0 file, 1 hard link, 2 symbolic link, 3 and 4 devices, 5 folder, 6 fifo. */
  readonly kind?: "0" | "1" | "2" | "3" | "4" | "5" | "6";
  readonly link?: string;
  readonly data?: Buffer | string;
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly mtime?: number;
  /** Records of an extended header. */
  readonly pax?: Readonly<Record<string, string>>;
}

const BLOCK = 512;

export function tarOf(items: readonly TarItem[]): Buffer {
  return Buffer.concat([...items.flatMap(partsOf), Buffer.alloc(2 * BLOCK)]);
}

export const file = (name: string, data: Buffer | string, mode = 0o644): TarItem => ({ name, data, mode });
export const folder = (name: string, mode = 0o755): TarItem => ({ name, kind: "5", mode });
export const symlink = (name: string, link: string): TarItem => ({ name, kind: "2", link });
export const hardlink = (name: string, link: string): TarItem => ({ name, kind: "1", link });

function partsOf(item: TarItem): Buffer[] {
  const pax = Object.entries({
    ...(Buffer.byteLength(item.name) > 100 ? { path: item.name } : {}),
    ...(Buffer.byteLength(item.link ?? "") > 100 ? { linkpath: item.link ?? "" } : {}),
    ...item.pax,
  });
  const described = pax.length === 0 ? [] : member("x", { name: "pax", data: pax.map(recordOf).join("") });
  return [...described, ...member(item.kind ?? "0", item)];
}

function member(kind: string, item: TarItem): Buffer[] {
  const data = Buffer.from(item.data ?? "");
  const header = Buffer.alloc(BLOCK);
  header.write(item.name, 0, 100);
  header.write(octal(item.mode ?? (kind === "5" ? 0o755 : 0o644), 8), 100);
  header.write(octal(item.uid ?? 0, 8), 108);
  header.write(octal(item.gid ?? 0, 8), 116);
  header.write(octal(data.length, 12), 124);
  header.write(octal(item.mtime ?? 1_600_000_000, 12), 136);
  header.write(`        ${kind}`, 148);
  header.write(item.link ?? "", 157, 100);
  header.write("ustar\0" + "00", 257);
  // Of devices: the memory device that holds random numbers.
  header.write(octal(1, 8), 329);
  header.write(octal(8, 8), 337);
  header.write(
    `${octal(
      header.reduce((sum, byte) => sum + byte, 0),
      7,
    )}\0 `.slice(0, 8),
    148,
  );
  return [header, data, Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK)];
}

function octal(value: number, width: number): string {
  return value.toString(8).padStart(width - 1, "0");
}

function recordOf([key, value]: readonly [string, string]): string {
  const rest = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(rest);
  while (length !== Buffer.byteLength(rest) + String(length).length) {
    length = Buffer.byteLength(rest) + String(length).length;
  }
  return `${length}${rest}`;
}
