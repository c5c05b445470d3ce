/** Server-Sent Events, as the TypeScript SDK reads them: the same events however the bytes are cut. */
import type { Buffer } from "node:buffer";
import { EventParser } from "../../../sdk/typescript/src/sse.js";

/** The first byte says into which pieces the rest is cut. */
export function run(data: Buffer): void {
  const bytes = data.subarray(1);
  const whole = events(bytes, Math.max(bytes.length, 1));
  const pieces = events(bytes, 1 + (data[0] ?? 0));
  if (whole !== pieces) throw new Error(`in pieces: ${pieces}, at once: ${whole}`);
}

function events(bytes: Buffer, step: number): string {
  const parser = new EventParser();
  const found = [];
  for (let at = 0; at < bytes.length; at += step) found.push(...parser.push(bytes.subarray(at, at + step)));
  return JSON.stringify(found);
}
