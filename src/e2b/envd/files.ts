/** `/files`: the content of files, read and written as it streams. */

import { posix } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { bodyChunks, mediaType } from "../../api/http/body.js";
import type { Exchange } from "../../api/http/exchange.js";
import { recorded } from "../../api/resources/files.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { invalid } from "../errors.js";
import { type EnvdCall, pathInside } from "./call.js";
import { readParts } from "./multipart.js";

const MAX_PARTS = 1000;

export async function serveFile(call: EnvdCall, exchange: Exchange): Promise<void> {
  const { method, url = "" } = call.request;
  const { searchParams: query } = new URL(url, "http://localhost");
  if (method === "GET") return await sendFile(call, pathOf(call, query.get("path") ?? ""));
  if (method === "POST") {
    exchange.sendJson(200, await takeFiles(call, query.get("path")));
    return;
  }
  throw new AgentKernelError("method_not_allowed", "this path takes GET, POST", {
    details: { allowed: ["GET", "POST"] },
  });
}

function pathOf(call: EnvdCall, given: string): string {
  if (given === "") throw invalid("path", "is missing");
  if (given.includes("\0") || Buffer.byteLength(given) > 4095) throw invalid("path", "is not a path");
  return posix.normalize(pathInside(call, given));
}

async function sendFile({ sandbox, response }: EnvdCall, path: string): Promise<void> {
  const { chunks } = await recorded(sandbox, "read", path, (files) => files.openFile(path));
  response.writeHead(200, {
    "content-type": "application/octet-stream",
    "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(posix.basename(path))}`,
    "cache-control": "no-store",
  });
  await pipeline(Readable.from(chunks), response);
}

async function takeFiles(call: EnvdCall, path: string | null): Promise<readonly object[]> {
  const { source, request, host } = call;
  const most = host.backing.maxUploadBytes;
  const type = mediaType(request);
  if (type === "application/octet-stream") {
    return [await write(call, pathOf(call, path ?? ""), octets(call, most))];
  }
  if (type !== "multipart/form-data") {
    throw new AgentKernelError("unsupported_media_type", `the body is ${type ?? "of no stated kind"}`, {
      hint: "send multipart/form-data or application/octet-stream",
      details: { field: "Content-Type" },
    });
  }
  const written: object[] = [];
  for await (const part of readParts(request.headers["content-type"] ?? "", bodyChunks(source, most))) {
    if (part.name !== "file") {
      for await (const _ of part.content);
      continue;
    }
    if (written.length >= MAX_PARTS) throw invalid("body", `has more than ${MAX_PARTS} files`);
    // Where the address names a file, its name in the form says nothing.
    written.push(await write(call, pathOf(call, path ?? part.filename), part.content));
  }
  if (written.length === 0) throw invalid("body", "has no part named file");
  return written;
}

async function write({ sandbox }: EnvdCall, path: string, content: AsyncIterable<Buffer>): Promise<object> {
  await recorded(sandbox, "write", path, (files) => files.writeFile(path, content, { parents: true }));
  return { name: posix.basename(path), type: "file", path };
}

function octets({ request, source }: EnvdCall, most: number): AsyncIterable<Buffer> {
  const isPacked = request.headers["content-encoding"] === "gzip";
  const chunks = bodyChunks(source, most, ["identity", "gzip"]);
  return isPacked ? bounded(unpacked(chunks), most) : chunks;
}

async function* unpacked(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  const fed = pipeline(Readable.from(chunks), gunzip).catch((cause: unknown) => {
    if (isAgentKernelError(cause)) throw cause;
    throw new AgentKernelError("invalid_argument", "the body is not whole gzip", { details: { field: "body" }, cause });
  });
  fed.catch(() => {});
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) yield chunk;
  } catch {
    // The pipeline says why.
  }
  await fed;
}

/** A little gzip can be a lot of bytes. */
async function* bounded(chunks: AsyncIterable<Buffer>, most: number): AsyncGenerator<Buffer> {
  let total = 0;
  for await (const chunk of chunks) {
    total += chunk.length;
    if (total > most) throw new AgentKernelError("payload_too_large", `the file is larger than ${most} bytes`);
    yield chunk;
  }
}
