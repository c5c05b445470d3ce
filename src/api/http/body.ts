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
export async function* bodyChunks(
  { request, proceed }: BodySource,
  maxBytes: number,
  encodings: readonly string[] = ["identity"],
): AsyncGenerator<Buffer> {
  refuseUnread(request, maxBytes, encodings);
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
    throw notWhole(error);
  } finally {
    clearTimeout(timer);
  }
}

/** All of it. By events, which takes a fraction of what iterating does. */
export async function readBody({ request, proceed }: BodySource, maxBytes: number): Promise<Buffer> {
  refuseUnread(request, maxBytes, ["identity"]);
  proceed();
  return await new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let total = 0;
    // Most bodies have come with their head, and need no timer.
    let timer: NodeJS.Timeout | undefined;
    const soon = setImmediate(() => {
      timer = setTimeout(() => request.destroy(new Error("the body stopped coming")), STALL_MS);
    });
    const settle = (tell: () => void) => {
      clearImmediate(soon);
      clearTimeout(timer);
      request.off("data", take).off("end", end).off("error", fail).off("close", cut);
      // Its connection stays, for the answer to go out on.
      request.pause();
      tell();
    };
    const take = (chunk: Buffer) => {
      timer?.refresh();
      total += chunk.length;
      parts.push(chunk);
      if (total > maxBytes) settle(() => reject(tooLarge(maxBytes)));
    };
    const end = () => settle(() => resolve(Buffer.concat(parts)));
    const fail = (error: unknown) => settle(() => reject(notWhole(error)));
    const cut = () => fail(new Error("the connection was closed"));
    request.on("data", take).once("end", end).once("error", fail).once("close", cut);
    if (request.destroyed && !request.readableEnded) cut();
  });
}

/** Refuses what the head of a request already rules out. */
function refuseUnread({ headers }: IncomingMessage, maxBytes: number, encodings: readonly string[]): void {
  if (!encodings.includes(headers["content-encoding"] ?? "identity")) {
    throw new AgentKernelError("unsupported_media_type", "compressed bodies are not taken", {
      details: { field: "Content-Encoding" },
    });
  }
  if (Number(headers["content-length"] ?? "0") > maxBytes) throw tooLarge(maxBytes);
}

function notWhole(cause: unknown): AgentKernelError {
  return new AgentKernelError("invalid_argument", "the body did not come whole", {
    details: { field: "body" },
    cause,
  });
}

function tooLarge(maxBytes: number): AgentKernelError {
  return new AgentKernelError("payload_too_large", `the body is larger than ${maxBytes} bytes`, {
    hint: "send a file as application/octet-stream to …/files, where it is not held in memory",
    details: { field: "body", max_bytes: maxBytes },
  });
}
