/**
 * Zstandard, frame by frame and block by block. The library decodes; the framing is read here, because a frame says how
 * much memory its reader must have, and one that asks for too much must be refused before that memory is had.
 */
import { Decompress } from "fzstd";

/** What the reference implementation allows unless it is told otherwise. */
const MAX_WINDOW_BYTES = 128 * 1024 * 1024;
const MAX_BLOCK_BYTES = 128 * 1024;

export async function* unzstd(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  const input = new ByteQueue(source);
  try {
    for (let magic = await input.take(4); magic.length > 0; magic = await input.take(4)) {
      const kind = whole(magic, 4).readUInt32LE(0);
      if ((kind & 0xfffffff0) >>> 0 === 0x184d2a50) await input.skip(whole(await input.take(4), 4).readUInt32LE(0));
      else if (kind === 0xfd2fb528) yield* frame(magic, input);
      else throw new Error("not a frame");
    }
  } finally {
    await input.close();
  }
}

async function* frame(magic: Buffer, input: ByteQueue): AsyncGenerator<Buffer, void, void> {
  const out: Buffer[] = [];
  const decoder = new Decompress((data) => {
    // The decoder goes on using what it hands out.
    if (data.length > 0) out.push(Buffer.from(data));
  });
  const { header, hasChecksum } = await frameHeader(input);
  decoder.push(Buffer.concat([magic, header]));
  for (let last = false; !last; ) {
    const head = whole(await input.take(3), 3);
    const word = head.readUIntLE(0, 3);
    last = (word & 1) === 1;
    const isRepeated = ((word >> 1) & 3) === 1;
    if (word >> 3 > MAX_BLOCK_BYTES) throw new Error("a block that is too large");
    const size = isRepeated ? 1 : word >> 3;
    const body = whole(await input.take(size), size);
    const checksum = last && hasChecksum ? whole(await input.take(4), 4) : Buffer.alloc(0);
    decoder.push(Buffer.concat([head, body, checksum]), last);
    yield* out.splice(0);
  }
}

async function frameHeader(input: ByteQueue): Promise<{ header: Buffer; hasChecksum: boolean }> {
  const descriptor = whole(await input.take(1), 1);
  const flags = descriptor.readUInt8(0);
  const single = (flags & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][flags & 3] ?? 0;
  const sizeFlag = flags >> 6;
  const sizeBytes = sizeFlag === 0 ? Number(single) : 1 << sizeFlag;
  const windowBytes = single ? 0 : 1;
  const rest = whole(
    await input.take(windowBytes + dictionaryBytes + sizeBytes),
    windowBytes + dictionaryBytes + sizeBytes,
  );
  if (windowOf(rest, single, sizeBytes) > MAX_WINDOW_BYTES) throw new Error("a window that is too large");
  return { header: Buffer.concat([descriptor, rest]), hasChecksum: (flags & 4) !== 0 };
}

/** A frame of a single segment has its content as its window. */
function windowOf(header: Buffer, single: boolean, sizeBytes: number): number {
  if (single) {
    const size = header.subarray(header.length - sizeBytes);
    return sizeBytes === 8 ? Number(size.readBigUInt64LE(0)) : size.readUIntLE(0, sizeBytes);
  }
  const descriptor = header.readUInt8(0);
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function whole(bytes: Buffer, count: number): Buffer {
  if (bytes.length < count) throw new Error("it ends in the middle");
  return bytes;
}

class ByteQueue {
  readonly #source: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Fewer only at the end. */
  async take(count: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let wanted = count; wanted > 0; ) {
      if (this.#held.length === 0 && !(await this.#refill())) break;
      const part = this.#held.subarray(0, wanted);
      this.#held = this.#held.subarray(part.length);
      wanted -= part.length;
      parts.push(part);
    }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
  }

  async skip(count: number): Promise<void> {
    for (let left = count; left > 0; ) {
      const part = await this.take(Math.min(left, 65_536));
      if (part.length === 0) throw new Error("it ends in the middle");
      left -= part.length;
    }
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  async #refill(): Promise<boolean> {
    const next = await this.#source.next();
    this.#held = next.done === true ? Buffer.alloc(0) : next.value;
    return this.#held.length > 0 || (next.done !== true && (await this.#refill()));
  }
}
