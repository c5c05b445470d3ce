/**
 * What a client sends through a gateway that allows one name: TLS, HTTP with its framing, or anything else. How it is
 * cut into pieces must change nothing, and what is held back is given back at the end.
 */
import { Buffer } from "node:buffer";
import { isPeekRefusal } from "../../../src/egress/peek/inspector.js";
import { allowance, inspector } from "../../../src/egress/testing/peek.js";

/** The first byte says into which pieces the rest is cut. */
export function run(data: Buffer): void {
  const bytes = data.subarray(1);
  const whole = verdict(bytes, Math.max(bytes.length, 1));
  const pieces = verdict(bytes, 1 + (data[0] ?? 0));
  const isSame =
    whole.passed === pieces.passed ||
    // What came in one piece with the beginning of something unfinished may wait for its end.
    (whole.isHolding && whole.passed !== null && pieces.passed?.startsWith(whole.passed));
  if (!isSame) throw new Error(`in pieces: ${JSON.stringify(pieces)}, at once: ${JSON.stringify(whole)}`);
}

/** The bytes that passed, or null where they were refused. */
function verdict(bytes: Buffer, step: number): { passed: string | null; isHolding: boolean } {
  const held = allowance();
  const look = inspector("a.example", [], held);
  let passed: string | null = "";
  for (let at = 0; at < bytes.length && passed !== null; at += step) {
    const part = look.push(bytes.subarray(at, at + step));
    passed = isPeekRefusal(part) ? null : passed + Buffer.concat(part).toString("latin1");
  }
  const isHolding = look.holding;
  look.release();
  if (held.used !== 0) throw new Error(`${held.used} bytes are held for ever`);
  return { passed, isHolding };
}
