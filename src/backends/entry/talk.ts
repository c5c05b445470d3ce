/**
 * The conversation with the first program of a container, on the stream that is the guest's afterwards: a length of
 * four bytes, little-endian, and so many bytes. Nothing is read beyond the last message of it.
 */
import type { Duplex } from "node:stream";
import type { Layer } from "../../core/backend.js";
import { AgentKernelError, errorCodeOf } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { type HostTree, readHostTree } from "../../guest/host-tree.js";
import type { EntryOrder } from "./order.js";
import type { CopiedView } from "./views.js";

const MAX_MESSAGE_BYTES = 1 << 20;
const layerStates: readonly unknown[] = ["applied", "partial", "absent"];

interface Delivery {
  /** Null where it was told in another way. */
  readonly order: EntryOrder | null;
  readonly views: readonly CopiedView[];
  readonly hide: Parameters<typeof readHostTree>[1];
  /** The views in their order, where they are being read already. */
  readonly trees?: readonly HostTree[];
  /** Of the folders that are shown and not copied. */
  readonly found?: Buffer | Promise<Buffer> | undefined;
  /** Settles when it waits for its order, where that is not known yet: it is sent all the same. */
  readonly here?: Promise<void>;
  /** All of it is on its way: what is written from now on is the guest's. */
  readonly onDelivered?: (() => void) | undefined;
  /** It is the guest that speaks from now on. */
  readonly onStarted?: () => void;
  readonly signal?: AbortSignal | undefined;
}

/** It waits for its order. A machine that was not restored says before that it `waits`. */
export async function awaitEntry(stream: Duplex, waits?: "waiting"): Promise<void> {
  const first = await hear(stream);
  const said = waits !== undefined && first.said === waits ? await hear(stream) : first;
  if (said.said === "failed") throw failure(said);
  if (said.said !== "here") throw unexpected(JSON.stringify(said));
}

/** It says that it waits. */
export async function awaitWaiting(stream: Duplex): Promise<void> {
  const said = await hear(stream);
  if (said.said === "failed") throw failure(said);
  if (said.said !== "waiting") throw unexpected(JSON.stringify(said));
}

export interface Begun {
  /** The walls that stand when the guest starts. */
  readonly layers: readonly Layer[];
  /** Of the project, where the order asks for it. */
  readonly listing: Buffer | null;
}

/** Gives the order and the folders that belong to it. */
export async function giveOrder(
  stream: Duplex,
  { order, views, hide, trees, found, here, onDelivered, onStarted, signal }: Delivery,
): Promise<Begun> {
  const answer = Promise.resolve(here).then(() => hear(stream));
  // It is looked at only when all is sent, unless it is a refusal.
  const refused = answer.then((said) => (said.said === "failed" ? Promise.reject(failure(said)) : said));
  let isRefused = false;
  refused.catch(() => {
    isRefused = true;
  });
  const deliver = async () => {
    if (order !== null) await sendMessage(stream, Buffer.from(JSON.stringify(order)));
    for (const [index, { source }] of views.entries()) {
      const parts = trees?.[index]?.read() ?? readHostTree(source, hide, { signal, holes: true });
      for await (const part of parts) await sendMessage(stream, part);
      await sendMessage(stream, Buffer.alloc(0));
    }
    if (found !== undefined) await sendAll(stream, await found);
    if (!isRefused && !stream.destroyed) onDelivered?.();
    return await refused;
  };
  const first = await Promise.race([deliver(), refused]);
  const listing = first.said === "filled" ? await hearAll(stream) : null;
  const said = listing === null ? first : await hear(stream);
  if (said.said === "failed") throw failure(said);
  if (said.said !== "started" || !Array.isArray(said.layers)) throw unexpected(JSON.stringify(said));
  const layers = said.layers.map(layerOf);
  onStarted?.();
  return { layers, listing };
}

/** In parts that are not too long, and an empty one. */
export async function sendAll(stream: Duplex, whole: Buffer): Promise<void> {
  for (let at = 0; at < whole.length; at += MAX_MESSAGE_BYTES) {
    await sendMessage(stream, whole.subarray(at, at + MAX_MESSAGE_BYTES));
  }
  await sendMessage(stream, Buffer.alloc(0));
}

/** Several are written as one: whoever writes to the stream afterwards writes behind all of them. */
export function sendMessage(stream: Duplex, ...messages: readonly Buffer[]): Promise<void> {
  const parts = messages.flatMap((message) => {
    const header = Buffer.alloc(4);
    header.writeUInt32LE(message.length);
    return [header, message];
  });
  return new Promise((resolve, reject) => {
    stream.write(Buffer.concat(parts), (error) => (error ? reject(gone(error)) : resolve()));
  });
}

/** Up to an empty message. */
async function hearAll(stream: Duplex): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (;;) {
    const part = await hearMessage(stream);
    if (part.length === 0) return Buffer.concat(parts);
    parts.push(part);
  }
}

async function hearMessage(stream: Duplex): Promise<Buffer> {
  const length = (await exactly(stream, 4)).readUInt32LE();
  if (length > MAX_MESSAGE_BYTES) throw unexpected(`a message of ${length} bytes`);
  return length === 0 ? Buffer.alloc(0) : await exactly(stream, length);
}

/** One message that is a JSON object. */
export async function hear(stream: Duplex): Promise<Readonly<Record<string, unknown>>> {
  const value = JSON.parse((await hearMessage(stream)).toString("utf8")) as unknown;
  if (typeof value !== "object" || value === null) throw unexpected(String(value));
  return value as Readonly<Record<string, unknown>>;
}

function exactly(stream: Duplex, length: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const found: unknown = stream.read(length);
      if (!Buffer.isBuffer(found) || found.length < length) return;
      settle();
      resolve(found);
    };
    const end = () => {
      settle();
      reject(gone());
    };
    const settle = () => {
      stream.off("readable", look).off("end", end).off("close", end);
    };
    stream.on("readable", look).once("end", end).once("close", end);
    look();
    // One that was closed before says nothing of it again.
    if (stream.destroyed || stream.readableEnded) end();
  });
}

function layerOf(value: unknown): Layer {
  const { name, state, detail } = value as Readonly<Record<string, unknown>>;
  if (typeof name !== "string" || !layerStates.includes(state)) throw unexpected(JSON.stringify(value));
  const known = { name, state: state as Layer["state"] };
  return typeof detail === "string" ? { ...known, detail } : known;
}

function failure({ code, message, hint }: Readonly<Record<string, unknown>>): AgentKernelError {
  const extras = typeof hint === "string" ? { hint } : {};
  return new AgentKernelError(errorCodeOf(code), String(message), extras);
}

function gone(cause?: unknown): AgentKernelError {
  return new AgentKernelError("sandbox_start_failed", "the container ended before its sandbox was ready", { cause });
}

function unexpected(what: string): AgentKernelError {
  const shown = escapeText(what.slice(0, 200));
  return new AgentKernelError("internal", `the container's first program said something unexpected: ${shown}`);
}
