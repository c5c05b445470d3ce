/** Reads a whole ClientHello message (RFC 8446, 4.1.2) for what it says about the server that is meant. */
import type { Buffer } from "node:buffer";

export interface ClientHello {
  readonly serverName: string | null;
  /** There is an encrypted hello inside, or something that looks the same. */
  readonly encrypted: boolean;
  readonly earlyData: boolean;
}

const SERVER_NAME = 0;
const EARLY_DATA = 42;
const ENCRYPTED_HELLO = 0xfe0d;

class Malformed extends Error {}

class Fields {
  #at = 0;

  constructor(readonly bytes: Buffer) {}

  get done(): boolean {
    return this.#at === this.bytes.length;
  }

  number(size: 1 | 2): number {
    return this.take(size).readUIntBE(0, size);
  }

  take(size: number): Buffer {
    if (this.#at + size > this.bytes.length) throw new Malformed("a field is longer than the message");
    this.#at += size;
    return this.bytes.subarray(this.#at - size, this.#at);
  }

  vector(lengthSize: 1 | 2): Fields {
    return new Fields(this.take(this.number(lengthSize)));
  }
}

/** `body`: the message without its type and length. A text where it is malformed. */
export function parseClientHello(body: Buffer): ClientHello | string {
  try {
    return read(new Fields(body));
  } catch (error) {
    if (error instanceof Malformed) return error.message;
    throw error;
  }
}

function read(hello: Fields): ClientHello {
  hello.take(2 + 32);
  hello.vector(1);
  hello.vector(2);
  hello.vector(1);
  const extensions = hello.done ? null : hello.vector(2);
  if (!hello.done) throw new Malformed("bytes after the last field");
  const seen = new Map<number, Fields>();
  while (extensions !== null && !extensions.done) {
    const type = extensions.number(2);
    if (seen.has(type)) throw new Malformed("an extension twice");
    seen.set(type, extensions.vector(2));
  }
  const names = seen.get(SERVER_NAME);
  return {
    serverName: names === undefined ? null : serverName(names),
    encrypted: seen.has(ENCRYPTED_HELLO),
    earlyData: seen.has(EARLY_DATA),
  };
}

function serverName(extension: Fields): string {
  const list = extension.vector(2);
  if (!extension.done) throw new Malformed("bytes after the server names");
  const type = list.number(1);
  const name = list.vector(2).bytes;
  if (type !== 0 || !list.done) throw new Malformed("not exactly one server name");
  return name.toString("latin1");
}
