/** The body of a request: bounded before it is read, and never waited for without end. */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";

/** Without a byte for so long, whoever sends has gone or means no good. */
const STALL_MS = 20_000;

export interface BodySource {
  readonly request: IncomingMessage;
  /** Whoever waits to be told may send now. */
  readonly proceed: () => void;
}

export function mediaType({ headers }: IncomingMessage): string | null {
  const [type = ""] = (headers["content-type"] ?? "").split(";", 1);
  return type.trim() === "" ? null : type.trim().toLowerCase();
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? "0") > 0;
}

/** Chunks as they come. Throws `payload_too_large` at the byte that is too many, or before the first. */
export async function* bodyChunks({ request, proceed }: BodySource, maxBytes: number): AsyncGenerator<Buffer> {
  if (request.headers["content-encoding"] !== undefined) {
    throw new AgentKernelError("unsupported_media_type", "compressed bodies are not taken", {
      details: { field: "Content-Encoding" },
    });
  }
  if (Number(request.headers["content-length"] ?? "0") > maxBytes) throw tooLarge(maxBytes);
  proceed();
  let total = 0;
  const timer = setTimeout(() => request.destroy(new Error("the body stopped coming")), STALL_MS);
  try {
    // Its connection stays, for the answer to go out on.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      timer.refresh();
      total += chunk.length;
      if (total > maxBytes) throw tooLarge(maxBytes);
      yield chunk;
    }
  } catch (error) {
    if (isAgentKernelError(error)) throw error;
    throw new AgentKernelError("invalid_argument", "the body did not come whole", {
      details: { field: "body" },
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}

export async function readBody(source: BodySource, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const chunk of bodyChunks(source, maxBytes)) parts.push(chunk);
  return Buffer.concat(parts);
}

function tooLarge(maxBytes: number): AgentKernelError {
  return new AgentKernelError("payload_too_large", `the body is larger than ${maxBytes} bytes`, {
    hint: "send a file as application/octet-stream to …/files, where it is not held in memory",
    details: { field: "body", max_bytes: maxBytes },
  });
}
