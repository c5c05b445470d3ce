/** Frames from a client of the daemon: a RangeError and nothing else, and the same however the bytes are cut. */
import type { Buffer } from "node:buffer";
import { ClientFrame, FrameDecoder } from "../../../src/daemon/client/frames.js";
import { parseStart, parseWindow } from "../../../src/daemon/client/start.js";

/** The first byte says into which pieces the rest is cut. */
export function run(data: Buffer): void {
  const bytes = data.subarray(1);
  const whole = decoded(bytes, Math.max(bytes.length, 1));
  const pieces = decoded(bytes, 1 + (data[0] ?? 0));
  if (whole !== pieces) throw new Error(`in pieces: ${pieces}, at once: ${whole}`);
}

function decoded(bytes: Buffer, step: number): string {
  const seen: string[] = [];
  let output = "";
  const decoder = new FrameDecoder({
    data: (stream, piece) => {
      output += `${stream}:${piece.toString("hex")};`.repeat(piece.length > 0 ? 1 : 0);
    },
    frame: (type, stream, payload) => {
      seen.push(`${type} ${stream} ${payload.toString("hex")}`);
      if (type === ClientFrame.start) understood(() => parseStart(payload));
      if (type === ClientFrame.window) understood(() => parseWindow(payload));
    },
  });
  const isWhole = understood(() => {
    for (let at = 0; at < bytes.length; at += step) decoder.push(bytes.subarray(at, at + step));
  });
  // In which pieces output comes does not matter.
  return JSON.stringify([seen, output.replace(/;\d+:/g, ""), isWhole]);
}

function understood(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return false;
  }
}
