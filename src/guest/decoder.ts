/**
 * Bytes from the guest in, frames out. Checks every rule that one frame alone can break, in the order that the
 * vectors fix: type, reserved, direction, channel, stream, length, payload.
 * DATA is handed on in pieces, as slices of the chunk it arrived in: nothing is copied or put together. All else is
 * held until complete, so a decoder never holds more than one header and MAX_GUEST_JSON_BYTES.
 */
import { Buffer } from "node:buffer";
import {
  FrameType,
  type GuestJsonType,
  HEADER_BYTES,
  MAX_CREDIT_BYTES,
  MAX_DATA_BYTES,
  MAX_GUEST_JSON_BYTES,
  MAX_PING_BYTES,
  type StreamId,
} from "./frame.js";
import { type JsonObject, parseJsonObject } from "./json.js";
import { GuestViolation } from "./violation.js";

/** May throw a GuestViolation, which then ends the decoder too. Buffers are only lent for the call. */
export interface FrameReceiver {
  json(type: GuestJsonType, channel: number, body: JsonObject): void;
  /** A DATA frame begins; `length` bytes follow in `dataPiece` calls before anything else. */
  dataStart(channel: number, stream: StreamId, length: number): void;
  dataPiece(piece: Buffer): void;
  eof(channel: number, stream: StreamId): void;
  credit(channel: number, stream: StreamId, bytes: number): void;
  ping(payload: Buffer): void;
  pong(payload: Buffer): void;
}

const EMPTY = Buffer.alloc(0);

export class FrameDecoder {
  readonly #receiver: FrameReceiver;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerFill = 0;
  #type: FrameType = FrameType.data;
  #channel = 0;
  #stream: StreamId = 0;
  /** Payload bytes of the current frame that have not arrived yet. */
  #missing = 0;
  #inPayload = false;
  #payload = EMPTY;
  #payloadFill = 0;
  #broken: GuestViolation | null = null;

  constructor(receiver: FrameReceiver) {
    this.#receiver = receiver;
  }

  /** Bytes held of frames that are not complete. */
  get heldBytes(): number {
    return this.#headerFill + this.#payload.length;
  }

  /** Throws GuestViolation, and after the first one throws it for every further chunk. */
  push(chunk: Buffer): void {
    if (this.#broken) throw this.#broken;
    try {
      this.#run(chunk);
    } catch (error) {
      if (error instanceof GuestViolation) this.#broken = error;
      this.#payload = EMPTY;
      throw error;
    }
  }

  #run(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (!this.#inPayload) {
        if (this.#headerFill === 0 && chunk.length - at >= HEADER_BYTES) {
          this.#readHeader(chunk, at);
          at += HEADER_BYTES;
        } else {
          const taken = chunk.copy(this.#header, this.#headerFill, at);
          this.#headerFill += taken;
          at += taken;
          if (this.#headerFill < HEADER_BYTES) return;
          this.#headerFill = 0;
          this.#readHeader(this.#header, 0);
        }
      } else if (this.#type === FrameType.data) {
        const end = Math.min(chunk.length, at + this.#missing);
        this.#missing -= end - at;
        this.#inPayload = this.#missing > 0;
        this.#receiver.dataPiece(chunk.subarray(at, end));
        at = end;
      } else {
        at = this.#assemble(chunk, at);
      }
    }
  }

  #readHeader(bytes: Buffer, at: number): void {
    const length = bytes.readUInt32LE(at);
    this.#channel = bytes.readUInt32LE(at + 4);
    const type = bytes.readUInt8(at + 8);
    const stream = bytes.readUInt8(at + 9);
    if (type < FrameType.hello || type > FrameType.shutdown) {
      throw new GuestViolation("unknown-type", `a frame of unknown type ${type}`);
    }
    this.#type = type as FrameType;
    if (bytes.readUInt16LE(at + 10) !== 0) {
      throw new GuestViolation("reserved", "reserved header bytes are not zero");
    }
    this.#checkPlace(stream);
    this.#stream = stream as StreamId;
    this.#checkLength(length);
    if (type === FrameType.data) {
      this.#missing = length;
      this.#inPayload = true;
      this.#receiver.dataStart(this.#channel, this.#stream, length);
    } else if (length === 0) {
      this.#complete(EMPTY);
    } else {
      this.#missing = length;
      this.#inPayload = true;
    }
  }

  #checkPlace(stream: number): void {
    const type = this.#type;
    if (type === FrameType.signal || type === FrameType.resize || type === FrameType.shutdown) {
      throw new GuestViolation("bad-direction", `a frame of type ${type}, which only the host sends`);
    }
    const onConnection = type === FrameType.hello || type === FrameType.ping || type === FrameType.pong;
    if (onConnection !== (this.#channel === 0)) {
      throw new GuestViolation("bad-channel", `a frame of type ${type} on channel ${this.#channel}`);
    }
    const streamed = type === FrameType.data || type === FrameType.eof || type === FrameType.credit;
    if (stream > (streamed ? 2 : 0)) {
      throw new GuestViolation("bad-stream", `a frame of type ${type} on stream ${stream}`);
    }
  }

  #checkLength(length: number): void {
    const type = this.#type;
    switch (type) {
      case FrameType.data:
        if (length > MAX_DATA_BYTES) throw oversize(type, length);
        if (length === 0) throw badLength(type, length);
        return;
      case FrameType.eof:
        if (length !== 0) throw badLength(type, length);
        return;
      case FrameType.credit:
        if (length !== 4) throw badLength(type, length);
        return;
      case FrameType.ping:
      case FrameType.pong:
        if (length > MAX_PING_BYTES) throw oversize(type, length);
        return;
      default:
        if (length > MAX_GUEST_JSON_BYTES) throw oversize(type, length);
    }
  }

  #assemble(chunk: Buffer, at: number): number {
    const available = chunk.length - at;
    if (this.#payloadFill === 0 && available >= this.#missing) {
      const end = at + this.#missing;
      this.#missing = 0;
      this.#inPayload = false;
      this.#complete(chunk.subarray(at, end));
      return end;
    }
    if (this.#payloadFill === 0) this.#payload = Buffer.allocUnsafe(this.#missing);
    const taken = chunk.copy(this.#payload, this.#payloadFill, at);
    this.#payloadFill += taken;
    this.#missing -= taken;
    if (this.#missing === 0) {
      const payload = this.#payload;
      this.#payload = EMPTY;
      this.#payloadFill = 0;
      this.#inPayload = false;
      this.#complete(payload);
    }
    return at + taken;
  }

  #complete(payload: Buffer): void {
    const type = this.#type;
    switch (type) {
      case FrameType.eof:
        this.#receiver.eof(this.#channel, this.#stream);
        return;
      case FrameType.credit: {
        const bytes = payload.readUInt32LE(0);
        if (bytes === 0 || bytes > MAX_CREDIT_BYTES) {
          throw new GuestViolation("bad-credit", `credit of ${bytes} bytes`);
        }
        this.#receiver.credit(this.#channel, this.#stream, bytes);
        return;
      }
      case FrameType.ping:
        this.#receiver.ping(payload);
        return;
      case FrameType.pong:
        this.#receiver.pong(payload);
        return;
      default:
        this.#receiver.json(type as GuestJsonType, this.#channel, parseJsonObject(payload));
    }
  }
}

function oversize(type: FrameType, length: number): GuestViolation {
  return new GuestViolation("oversize", `a frame of type ${type} announces ${length} bytes`);
}

function badLength(type: FrameType, length: number): GuestViolation {
  return new GuestViolation("bad-length", `a frame of type ${type} with ${length} bytes`);
}
