/**
 * The frame as it is on the wire: constants of spec/guest-protocol.md and the encoders of what the host sends.
 * Never holds state and never looks at what a frame means.
 */
import { Buffer } from "node:buffer";

export const PROTOCOL_VERSION = 1;
export const HEADER_BYTES = 12;

export const FrameType = {
  hello: 1,
  open: 2,
  opened: 3,
  failed: 4,
  data: 5,
  eof: 6,
  credit: 7,
  signal: 8,
  resize: 9,
  exit: 10,
  close: 11,
  ping: 12,
  pong: 13,
  shutdown: 14,
} as const;
export type FrameType = (typeof FrameType)[keyof typeof FrameType];

/** The frames whose payload is a JSON object, as far as the guest may send them. */
export type GuestJsonType =
  | typeof FrameType.hello
  | typeof FrameType.open
  | typeof FrameType.opened
  | typeof FrameType.failed
  | typeof FrameType.exit
  | typeof FrameType.close;

export const Stream = { in: 0, out: 1, err: 2 } as const;
export type StreamId = (typeof Stream)[keyof typeof Stream];

export const MAX_DATA_BYTES = 262_144;
export const MAX_HOST_JSON_BYTES = 4_194_304;
export const MAX_GUEST_JSON_BYTES = 65_536;
export const MAX_PING_BYTES = 64;
export const MAX_HOST_CHANNELS = 256;
export const MAX_GUEST_CHANNELS = 4096;
/** Commands that a kept guest keeps beyond a connection. */
export const MAX_KEPT_EXECS = 128;
/** First window of each stream of a channel that the guest opened. */
export const GUEST_CHANNEL_WINDOW_BYTES = 65_536;
export const MIN_WINDOW_BYTES = 65_536;
export const MAX_WINDOW_BYTES = 16_777_216;
export const MAX_CREDIT_BYTES = 2 ** 31 - 1;
export const MAX_CHANNEL_ID = 2 ** 32 - 1;
/** Bytes that the host may send on a stream before the guest's HELLO names its window. */
export const ASSUMED_WINDOW_BYTES = MIN_WINDOW_BYTES;

const EMPTY = Buffer.alloc(0);

function writeHeader(target: Buffer, type: FrameType, channel: number, stream: StreamId, length: number): void {
  target.writeUInt32LE(length, 0);
  target.writeUInt32LE(channel, 4);
  target[8] = type;
  target[9] = stream;
  target[10] = 0;
  target[11] = 0;
}

/** Only the header, for a DATA frame whose payload is written from where it already is. */
export function encodeDataHeader(channel: number, stream: StreamId, length: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  writeHeader(header, FrameType.data, channel, stream, length);
  return header;
}

export function encodeFrame(type: FrameType, channel: number, stream: StreamId = 0, payload: Buffer = EMPTY): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  writeHeader(frame, type, channel, stream, payload.length);
  payload.copy(frame, HEADER_BYTES);
  return frame;
}

export function encodeJson(type: FrameType, channel: number, body: object): Buffer {
  return encodeFrame(type, channel, 0, Buffer.from(JSON.stringify(body), "utf8"));
}

export function encodeCredit(channel: number, stream: StreamId, bytes: number): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + 4);
  writeHeader(frame, FrameType.credit, channel, stream, 4);
  frame.writeUInt32LE(bytes, HEADER_BYTES);
  return frame;
}
