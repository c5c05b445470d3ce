/** A command's output kept for an answer. */
import { Buffer } from "node:buffer";
import { StringDecoder } from "node:string_decoder";
import { AgentKernelError } from "../../core/errors.js";
import type { GuestExec } from "../../guest/index.js";
import { CapturedOutput } from "../../runtime/captured-output.js";
import type { OutputRoom } from "../limits/output-budget.js";
import type { Encoding } from "./command-events.js";

const PIECE_BYTES = 1 << 16;

/** Fields that `json` adds to an answer. */
export type CapturedField = "output" | "stdout" | "stderr" | "encoding" | "dropped_bytes";

interface Captured {
  readonly connect: (exec: GuestExec) => Promise<unknown>;
  /** An answer's JSON: the output, then `rest`. In pieces, since as one text it could be many times the output. */
  readonly json: (rest: object) => Generator<string>;
  readonly release: () => void;
}

export function capture(limitMiB: number, encoding: Encoding, room: OutputRoom): Captured {
  const kept = new CapturedOutput(limitMiB << 20, room.claim);
  return {
    connect: (exec) =>
      Promise.all(
        ([1, 2] as const).map(
          (stream) => new Promise<void>((resolve) => exec.onOutput(stream, kept.sink(stream, resolve))),
        ),
      ),
    json: function* (rest) {
      for (const [before, stream] of streams) {
        yield before;
        yield* textPieces(kept.parts(stream, PIECE_BYTES), encoding);
        yield '"';
      }
      yield `,${JSON.stringify({ ...rest, encoding, dropped_bytes: kept.droppedBytes }).slice(1)}`;
    },
    release: room.release,
  };
}

/** In the one form of answers. */
export function* succeeded(data: Iterable<string>): Generator<string> {
  yield '{"success":true,"data":';
  yield* data;
  yield "}";
}

const streams = [
  ['{"output":"', undefined],
  [',"stdout":"', 1],
  [',"stderr":"', 2],
] as const;

/** Encodes text as it stands between the quotes of a JSON string. */
function* textPieces(parts: Iterable<Buffer>, encoding: Encoding): Generator<string> {
  // What is split over two parts waits for its other half.
  const decoder = new StringDecoder(encoding);
  for (const part of parts) yield JSON.stringify(decoder.write(part)).slice(1, -1);
  yield JSON.stringify(decoder.end()).slice(1, -1);
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
