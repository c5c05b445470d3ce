/** Archives that a caller of the HTTP interface sends: entries, or an error that says why not. */
import type { Buffer } from "node:buffer";
import { tarEntries } from "../../../src/api/tar/read.js";
import { isAgentKernelError } from "../../../src/core/errors.js";

/** The first byte says into which pieces the rest is cut. */
export async function run(data: Buffer): Promise<void> {
  const bytes = data.subarray(1);
  const whole = await entries(bytes, Math.max(bytes.length, 1));
  const pieces = await entries(bytes, 16 * (1 + (data[0] ?? 0)));
  if (whole !== pieces) throw new Error(`in pieces: ${pieces}, at once: ${whole}`);
}

async function entries(bytes: Buffer, step: number): Promise<string> {
  const found: string[] = [];
  let isWhole = true;
  let contentBytes = 0;
  try {
    for await (const { name, type, mode, content } of tarEntries(cut(bytes, step))) {
      let length = 0;
      for await (const part of content) length += part.length;
      contentBytes += length;
      found.push(`${JSON.stringify(name)} ${type} ${mode} ${length}`);
    }
  } catch (error) {
    if (!isAgentKernelError(error)) throw error;
    isWhole = false;
  }
  if (contentBytes > bytes.length) throw new Error("more content than archive");
  return JSON.stringify([found, isWhole]);
}

async function* cut(bytes: Buffer, step: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step);
}
