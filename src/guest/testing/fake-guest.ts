/**
 * A guest that says exactly what a test tells it to, at the other end of a real Unix socket, and notes what the
 * host sends.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeCredit, encodeFrame, encodeJson, FrameType, HEADER_BYTES, type StreamId } from "../frame.js";
import { GuestSession, type GuestSessionOptions } from "../session.js";

export interface HostFrame {
  readonly type: number;
  readonly channel: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export const READY = { protocol: 1, guest: "test", window: 262_144, features: ["exec", "pty", "files"] };
export const EXIT_0 = { code: 0, signal: null, usage: { user_us: 1, system_us: 2, max_rss_kib: 3 } };

export async function connectedPair(): Promise<{ readonly hostEnd: Socket; readonly guestEnd: Socket }> {
  const folder = await mkdtemp(join(tmpdir(), "agentkernel-guest-"));
  const path = join(folder, "s");
  const server = createServer();
  try {
    await new Promise<void>((resolve) => server.listen(path, resolve));
    const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
    const hostEnd = connect(path);
    await new Promise((resolve) => hostEnd.once("connect", resolve));
    return { hostEnd, guestEnd: await accepted };
  } finally {
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

export class FakeGuest {
  readonly session: GuestSession;
  readonly hostEnd: Socket;
  /** The guest's own end. */
  readonly socket: Socket;
  readonly frames: HostFrame[] = [];
  dataBytes = 0;
  #rest: Buffer = Buffer.alloc(0);
  #wake: (() => void)[] = [];

  constructor(hostEnd: Socket, guestEnd: Socket, options: GuestSessionOptions) {
    this.hostEnd = hostEnd;
    this.socket = guestEnd;
    guestEnd.on("data", (chunk) => this.#receive(chunk));
    guestEnd.on("error", () => {});
    this.session = new GuestSession(hostEnd, options);
  }

  static async connect(options: GuestSessionOptions = {}): Promise<FakeGuest> {
    const { hostEnd, guestEnd } = await connectedPair();
    return new FakeGuest(hostEnd, guestEnd, options);
  }

  /** Connected, and the ready frame is sent. */
  static async ready(options: GuestSessionOptions = {}): Promise<FakeGuest> {
    const guest = await FakeGuest.connect(options);
    guest.json(FrameType.hello, 0, READY);
    await guest.session.ready;
    return guest;
  }

  raw(bytes: Buffer): this {
    this.socket.write(bytes);
    return this;
  }

  json(type: FrameType, channel: number, body: object): this {
    return this.raw(encodeJson(type, channel, body));
  }

  data(channel: number, stream: StreamId, payload: Buffer | string): this {
    return this.raw(encodeFrame(FrameType.data, channel, stream, Buffer.from(payload)));
  }

  eof(channel: number, stream: StreamId): this {
    return this.raw(encodeFrame(FrameType.eof, channel, stream));
  }

  credit(channel: number, stream: StreamId, bytes: number): this {
    return this.raw(encodeCredit(channel, stream, bytes));
  }

  /** The first frame from the host, sent or still to come, that satisfies the question. */
  async sees(question: (frame: HostFrame) => boolean): Promise<HostFrame> {
    while (true) {
      const found = this.frames.find(question);
      if (found) return found;
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  /** All DATA bytes that the host has sent on a channel. */
  received(channel: number): Buffer {
    const data = this.frames.filter((frame) => frame.type === FrameType.data && frame.channel === channel);
    return Buffer.concat(data.map((frame) => frame.payload));
  }

  end(): void {
    this.session.destroy();
    this.socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + this.#rest.readUInt32LE(0);
      if (this.#rest.length < end) break;
      const type = this.#rest.readUInt8(8);
      if (type === FrameType.data) this.dataBytes += end - HEADER_BYTES;
      this.frames.push({
        channel: this.#rest.readUInt32LE(4),
        type,
        stream: this.#rest.readUInt8(9),
        payload: Buffer.from(this.#rest.subarray(HEADER_BYTES, end)),
      });
      this.#rest = this.#rest.subarray(end);
    }
    for (const wake of this.#wake.splice(0)) wake();
  }
}
