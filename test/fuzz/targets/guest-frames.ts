/** Frames from a guest, as the host decodes them: violations only, and the same ones however the bytes are cut. */
import type { Buffer } from "node:buffer";
import { FrameDecoder } from "../../../src/guest/decoder.js";
import { HEADER_BYTES, MAX_GUEST_JSON_BYTES } from "../../../src/guest/frame.js";
import { RecordingReceiver } from "../../../src/guest/testing/recording-receiver.js";
import { GuestViolation } from "../../../src/guest/violation.js";

/** The first byte says into which pieces the rest is cut. */
export function run(data: Buffer): void {
  const bytes = data.subarray(1);
  const whole = decoded(bytes, Math.max(bytes.length, 1));
  const pieces = decoded(bytes, 1 + (data[0] ?? 0));
  if (whole !== pieces) throw new Error(`in pieces: ${pieces}, at once: ${whole}`);
}

function decoded(bytes: Buffer, step: number): string {
  const receiver = new RecordingReceiver();
  const decoder = new FrameDecoder(receiver);
  let ending = "";
  try {
    for (let at = 0; at < bytes.length; at += step) {
      decoder.push(bytes.subarray(at, at + step));
      if (decoder.heldBytes > HEADER_BYTES + MAX_GUEST_JSON_BYTES) throw new Error("it holds too much");
    }
  } catch (error) {
    if (!(error instanceof GuestViolation)) throw error;
    ending = error.reason;
  }
  return JSON.stringify([receiver.frames, ending]);
}
