/**
 * Brings an image that is not ready into the store: from its blobs where these are here, else from a registry. An image
 * that nobody named and that could not be had is not asked for again at every run.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentKernelError, isAgentKernelError } from "../core/errors.js";
import { nativeBinary } from "../core/native-binary.js";
import {
  canonicalForm,
  DEFAULT_CEILING_BYTES,
  digestHex,
  digestOf,
  familiarForm,
  hostPlatform,
  type ImageRecord,
  type ImageReference,
  ImageStore,
  importImage,
  type LayerProgress,
  makeRoom,
  parseReference,
  parseSource,
  platformText,
  pull,
  registryOptions,
  shortDigest,
} from "../images/index.js";
import type { ReadyImage } from "../images/store/ready.js";
import { recordKey } from "../images/store/record-key.js";
import type { LayerLimits } from "../images/unpack/limits.js";

export interface FetchSettings {
  readonly storeRoot: string;
  /** Whether a registry is asked: where the image is not here, every time, or never. */
  readonly pull: "missing" | "always" | "never";
  /** As users write them. */
  readonly mirrors: readonly string[];
  /** How much the store may take; null for the usual. */
  readonly ceilingBytes: number | null;
  /** The most that one layer may unpack to. */
  readonly layerLimits: LayerLimits;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
  /** Somebody else than the user named the image: public registries only, and none of the user's logins. */
  readonly publicOnly?: boolean;
  /** A project named the image: none of the user's logins. */
  readonly anonymous?: boolean;
}

export type ImageProgress =
  | { readonly kind: "begin"; readonly name: string }
  | { readonly kind: "download"; readonly layer: Omit<LayerProgress, "digest"> & { readonly digest: string } }
  | { readonly kind: "unpack"; readonly done: number; readonly total: number }
  | { readonly kind: "end" };

interface FetchOptions extends FetchSettings {
  /** Note a failure, and believe an earlier note of one. */
  readonly remember: boolean;
  readonly onProgress?: ((progress: ImageProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly stdin?: (() => AsyncIterable<Buffer> | null) | undefined;
}

export interface Fetched {
  readonly ready: ReadyImage;
  readonly notes: readonly string[];
}

/** How long a failure is believed. */
const REMEMBERED_MS = 10 * 60 * 1000;
/** A run that could do without the image does not wait long for a registry that does not answer. */
const IMPATIENT_CONNECT_MS = 3000;

export async function fetchImage(reference: ImageReference, options: FetchOptions): Promise<Fetched> {
  const { storeRoot, remember, signal } = options;
  const store = await ImageStore.open(storeRoot);
  const stored = await store.find(reference, hostPlatform());
  if (stored !== null && options.pull !== "always") {
    const record = await store.recordAs(reference, stored);
    return { ready: await unpack(store, record, options), notes: [] };
  }
  const notePath = join(storeRoot, "failed", `${recordKey(canonicalForm(reference), platformText(hostPlatform()))}`);
  if (options.pull === "never") {
    throw new AgentKernelError(
      "image_unavailable",
      `the image ${familiarForm(reference)} is not in the store, and pulling is off`,
      {
        hint: (wording) =>
          `agentkernel images pull ${familiarForm(reference)}, or use ${wording.with("image", "host")}`,
      },
    );
  }
  const earlier = remember ? await recentFailure(notePath) : null;
  if (earlier !== null) throw earlier;
  try {
    options.onProgress?.({ kind: "begin", name: familiarForm(reference) });
    const { record, previous } = await pull(reference, {
      ...registryOptions(options),
      store,
      onProgress: (layer) => options.onProgress?.({ kind: "download", layer }),
      ...(remember ? { timeouts: { connectMs: IMPATIENT_CONNECT_MS }, retry: { attempts: 1 } } : {}),
      ...(signal === undefined ? {} : { signal }),
    });
    await rm(notePath, { force: true });
    const ready = await unpack(store, record, options);
    await makeRoom(store, record, options.ceilingBytes ?? DEFAULT_CEILING_BYTES);
    const hasMoved = previous !== null && previous.digest !== record.digest;
    const notes = hasMoved
      ? [`${familiarForm(reference)} has moved from ${shortDigest(previous.digest)} to ${shortDigest(record.digest)}`]
      : [];
    return { ready, notes };
  } catch (error) {
    if (remember && isAgentKernelError(error) && signal?.aborted !== true) await noteFailure(notePath, error);
    throw error;
  } finally {
    options.onProgress?.({ kind: "end" });
  }
}

/** From an archive, a layout or an engine of this machine. It is read anew each time: what it holds may have changed. */
export async function bringImage(place: string, options: FetchOptions): Promise<Fetched> {
  const store = await ImageStore.open(options.storeRoot);
  const name = digestHex(digestOf(place)).slice(0, 16);
  options.onProgress?.({ kind: "begin", name: place });
  try {
    const { record } = await importImage(parseSource(place), {
      store,
      reference: parseReference(`localhost/run/${name}:latest`),
      env: options.env,
      stdin: () => options.stdin?.() ?? nothing(),
      packBinary: () => nativeBinary("ak-pack"),
      onProgress: (layer) => options.onProgress?.({ kind: "download", layer }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    const ready = await unpack(store, record, options);
    await makeRoom(store, record, options.ceilingBytes ?? DEFAULT_CEILING_BYTES);
    return { ready, notes: [] };
  } finally {
    options.onProgress?.({ kind: "end" });
  }
}

async function* nothing(): AsyncGenerator<Buffer, void, void> {}

async function unpack(
  store: ImageStore,
  record: ImageRecord,
  { onProgress, signal, layerLimits: limits }: FetchOptions,
): Promise<ReadyImage> {
  return await store.unpacked.makeReady(record, {
    limits,
    onLayer: (done, total) => onProgress?.({ kind: "unpack", done, total }),
    ...(signal === undefined ? {} : { signal }),
  });
}

async function recentFailure(path: string): Promise<AgentKernelError | null> {
  const text = await readFile(path, "utf8").catch(() => null);
  const [at = "", ...message] = (text ?? "").split("\n");
  const ageMs = Date.now() - Number(at);
  if (text === null || !(ageMs >= 0 && ageMs < REMEMBERED_MS)) return null;
  return new AgentKernelError("image_unavailable", message.join(" "), { hint: "agentkernel images pull asks again" });
}

/** A note that cannot be written costs the next run a moment, and nothing else. */
async function noteFailure(path: string, error: AgentKernelError): Promise<void> {
  try {
    await mkdir(join(path, ".."), { recursive: true, mode: 0o700 });
    await writeFile(path, `${Date.now()}\n${error.message}`, { mode: 0o600 });
  } catch {
    return;
  }
}
