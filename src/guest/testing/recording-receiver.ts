/** Notes every frame in the form of spec/vectors/frames.json. */
import type { FrameReceiver } from "../decoder.js";
import { FrameType, type GuestJsonType, type StreamId } from "../frame.js";
import type { JsonObject } from "../json.js";

export type SeenFrame = {
  readonly type: number;
  readonly channel: number;
  readonly stream: number;
  payload?: string;
  readonly json?: JsonObject;
};

export class RecordingReceiver implements FrameReceiver {
  readonly frames: SeenFrame[] = [];

  json(type: GuestJsonType, channel: number, json: JsonObject): void {
    this.frames.push({ type, channel, stream: 0, json });
  }

  dataStart(channel: number, stream: StreamId): void {
    this.frames.push({ type: FrameType.data, channel, stream, payload: "" });
  }

  dataPiece(piece: Buffer): void {
    const frame = this.frames.at(-1);
    if (frame) frame.payload += piece.toString("hex");
  }

  eof(channel: number, stream: StreamId): void {
    this.frames.push({ type: FrameType.eof, channel, stream, payload: "" });
  }

  credit(channel: number, stream: StreamId, bytes: number): void {
    const payload = Buffer.alloc(4);
    payload.writeUInt32LE(bytes);
    this.frames.push({ type: FrameType.credit, channel, stream, payload: payload.toString("hex") });
  }

  ping(payload: Buffer): void {
    this.frames.push({ type: FrameType.ping, channel: 0, stream: 0, payload: payload.toString("hex") });
  }

  pong(payload: Buffer): void {
    this.frames.push({ type: FrameType.pong, channel: 0, stream: 0, payload: payload.toString("hex") });
  }
}
