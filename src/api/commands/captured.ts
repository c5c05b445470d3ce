/** A command's output kept for an answer. */
import { Buffer } from "node:buffer";
import { AgentKernelError } from "../../core/errors.js";
import type { GuestExec } from "../../guest/index.js";
import { CapturedOutput } from "../../runtime/captured-output.js";
import type { Encoding } from "./command-events.js";

export interface Captured {
  readonly connect: (exec: GuestExec) => Promise<unknown>;
  readonly fields: () => {
    readonly output: string;
    readonly stdout: string;
    readonly stderr: string;
    readonly encoding: Encoding;
    readonly dropped_bytes: number;
  };
}

export function capture(limitMiB: number, encoding: Encoding): Captured {
  const kept = new CapturedOutput(limitMiB << 20);
  return {
    connect: (exec) =>
      Promise.all(
        ([1, 2] as const).map(
          (stream) => new Promise<void>((resolve) => exec.onOutput(stream, kept.sink(stream, resolve))),
        ),
      ),
    fields: () => ({
      output: kept.bytes().toString(encoding),
      stdout: kept.bytes(1).toString(encoding),
      stderr: kept.bytes(2).toString(encoding),
      encoding,
      dropped_bytes: kept.droppedBytes,
    }),
  };
}

/** What a body says that the command reads; null where it says nothing. */
export function stdinOf(body: { readonly stdin?: string; readonly stdin_encoding?: Encoding }): Buffer | null {
  if (body.stdin !== undefined) return decodeContent(body.stdin, body.stdin_encoding ?? "utf8", "stdin");
  if (body.stdin_encoding === undefined) return null;
  throw new AgentKernelError("invalid_argument", "stdin_encoding says how stdin is written, and there is none", {
    details: { field: "stdin_encoding" },
  });
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

export function decodeContent(text: string, encoding: Encoding, field: string): Buffer {
  if (encoding === "utf8") return Buffer.from(text);
  const bytes = Buffer.from(text, "base64");
  // Decoding leaves out what it does not know; a file must not lose a byte in silence.
  if (text.length % 4 === 0 && BASE64.test(text)) return bytes;
  throw new AgentKernelError("invalid_argument", `${field} is not base64`, { details: { field } });
}
