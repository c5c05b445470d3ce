/** One run of the native unpacker, which reads the hostile archive in a jail of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import type { FileHandle } from "node:fs/promises";
import { open } from "node:fs/promises";
import type { Socket } from "node:net";
import { AgentKernelError, errorCodeOf } from "../../core/errors.js";
import { nativeBinary } from "../../core/native-binary.js";
import type { LayerCompression } from "../media-types.js";

export interface LayerOrder {
  readonly target: string;
  /** The uppermost first. */
  readonly below: readonly string[];
  readonly compression: LayerCompression;
  readonly diffId: string;
  readonly maxBytes: number;
  readonly maxEntries: number;
  /** Makes everything on the store's filesystem survive a power cut before it answers. */
  readonly sync: boolean;
}

export interface LayerSummary {
  readonly entries: number;
  readonly bytes: number;
  readonly devicesSkipped: number;
}

const MAX_ANSWER_CHARS = 64 << 10;
/** Only for finding newuidmap and newgidmap. */
export const ENVIRONMENT = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };

export async function unpackLayer(blobPath: string, order: LayerOrder, signal?: AbortSignal): Promise<LayerSummary> {
  signal?.throwIfAborted();
  const blob = await open(blobPath, "r").catch((cause: unknown) => {
    throw new AgentKernelError("image_unavailable", "a layer of the image is not in the store any more", {
      hint: "pull the image again",
      cause,
    });
  });
  try {
    return await run(blob, order, signal);
  } finally {
    await blob.close();
  }
}

async function run(blob: FileHandle, order: LayerOrder, signal: AbortSignal | undefined): Promise<LayerSummary> {
  const child = spawn(nativeBinary("ak-unpack"), ["layer"], {
    detached: true,
    env: ENVIRONMENT,
    stdio: ["ignore", "ignore", "ignore", "pipe", blob.fd],
  });
  const ended = endOf(child);
  if (child.pid === undefined) throw await ended.then(() => notStarted(null), notStarted);
  const control = child.stdio[3] as Socket;
  // The end of its orders ends it.
  const stop = (): void => void control.destroy();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    const answer = readAll(control);
    control.write(`${JSON.stringify(order)}\n`);
    const text = await answer;
    await ended;
    signal?.throwIfAborted();
    return parseAnswer(text);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/** Removes folders of layers, also where their files belong to ids that only a user namespace may touch. */
export async function removeFolders(paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return;
  const child = spawn(nativeBinary("ak-unpack"), ["remove", ...paths], {
    env: ENVIRONMENT,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const said = child.stderr === null ? Promise.resolve("") : readAll(child.stderr);
  const status = await endOf(child).catch((cause: unknown) => Promise.reject(notStarted(cause)));
  if (status === 0) return;
  throw new AgentKernelError("internal", `unpacked layers could not be removed: ${(await said).trim()}`, {
    hint: "look at who owns the files in the image store",
  });
}

export function endOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => resolve(code));
    child.once("error", reject);
  });
}

export function notStarted(cause: unknown): AgentKernelError {
  return new AgentKernelError("backend_unavailable", "the unpacker could not be started", {
    hint: "the installation may be incomplete: install it again",
    cause,
  });
}

export function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => {
      if (text.length < MAX_ANSWER_CHARS) text += chunk;
    });
    // One that is gone has said all that it will say; what that means is judged by the text.
    stream.on("error", () => {});
    stream.once("close", () => resolve(text));
  });
}

function parseAnswer(text: string): LayerSummary {
  const lost = new AgentKernelError("image_invalid", "the unpacker was killed while it read a layer", {
    hint: "the machine may be short of memory; try again",
  });
  let answer: Readonly<Record<string, unknown>>;
  try {
    answer = JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    throw lost;
  }
  if (answer.event === "failed") {
    const { code, message, hint } = answer;
    throw new AgentKernelError(errorCodeOf(code), String(message), typeof hint === "string" ? { hint } : {});
  }
  const { entries, bytes, devicesSkipped } = answer;
  if (typeof entries !== "number" || typeof bytes !== "number" || typeof devicesSkipped !== "number") throw lost;
  return { entries, bytes, devicesSkipped };
}
