/**
 * From the image that is wanted to a root that a sandbox can start from. An image that is in the store costs one small
 * file to read; everything that downloads or unpacks is loaded only when it is needed.
 */
import type { ImageSource } from "../core/backend.js";
import { AgentKernelError, isAgentKernelError } from "../core/errors.js";
import { hostPlatform, platformText } from "../images/platform.js";
import { canonicalForm, type ImageReference, parseReference } from "../images/reference.js";
import { holdLayers, type LayerHold } from "../images/store/hold.js";
import { findReady, layerFolder, type ReadyImage } from "../images/store/ready.js";
import type { FetchSettings, ImageProgress } from "./fetch-image.js";

export interface ImageWish {
  /** A reference, or `host`. */
  readonly name: string;
  /** Why this one and no other. */
  readonly why: string;
  /** The user said it outright: it is never replaced. */
  readonly named: boolean;
}

export const pullChoices = ["missing", "always", "never"] as const;
export type PullChoice = (typeof pullChoices)[number];

export interface ImageSettings extends FetchSettings {
  /** Whether a registry is asked: where the image is not here, every time, or never. */
  readonly pull: PullChoice;
}

export interface RootImage {
  readonly name: string;
  readonly why: string;
  readonly source: ImageSource;
  /** What the image says of commands in it; null for the host's own programs. */
  readonly ready: ReadyImage | null;
  /** What the user should know, one line each. */
  readonly notes: readonly string[];
  /** After the sandbox has ended. */
  release(): Promise<void>;
}

const HOST = "host";

export async function rootImage(
  wish: ImageWish,
  settings: ImageSettings,
  onProgress?: (progress: ImageProgress) => void,
  signal?: AbortSignal,
): Promise<RootImage> {
  if (wish.name === HOST) return hostRoot(wish.why, []);
  const reference = parseReference(wish.name);
  try {
    return await storedRoot(wish, reference, settings, onProgress, signal);
  } catch (error) {
    if (wish.named || signal?.aborted === true || !isAgentKernelError(error)) throw error;
    const why = `${wish.name} could not be had: ${error.message}`;
    return hostRoot(why, [`using this machine's own programs (image host): ${why}`]);
  }
}

function hostRoot(why: string, notes: readonly string[]): RootImage {
  return { name: HOST, why, source: { kind: "host" }, ready: null, notes, release: async () => {} };
}

async function storedRoot(
  wish: ImageWish,
  reference: ImageReference,
  settings: ImageSettings,
  onProgress: ((progress: ImageProgress) => void) | undefined,
  signal: AbortSignal | undefined,
): Promise<RootImage> {
  const { storeRoot, pull } = settings;
  const name = canonicalForm(reference);
  const platform = platformText(hostPlatform());
  const find = (): ReadyImage | null => findReady(storeRoot, name, platform);
  const notes: string[] = [];
  let ready = pull === "always" ? null : find();
  if (ready === null) {
    const { fetchImage } = await import("./fetch-image.js");
    const fetched = await fetchImage(reference, { ...settings, remember: !wish.named, onProgress, signal });
    notes.push(...fetched.notes);
    ready = fetched.ready;
  }
  // Held first and looked at again after: what is held is not removed any more.
  const hold = await holdLayers(storeRoot, ready.layers);
  const held = find();
  if (held === null) {
    await hold.release();
    throw new AgentKernelError("image_unavailable", `${wish.name} was removed from the store meanwhile`, {
      hint: "run it again",
    });
  }
  const isSame = held.manifestDigest === ready.manifestDigest;
  return imageRoot(wish, held, storeRoot, notes, isSame ? hold : await exchange(hold, storeRoot, held));
}

/** The tag may have moved between the two looks. */
async function exchange(hold: LayerHold, storeRoot: string, held: ReadyImage): Promise<LayerHold> {
  const fresh = await holdLayers(storeRoot, held.layers);
  await hold.release();
  return fresh;
}

function imageRoot(
  wish: ImageWish,
  ready: ReadyImage,
  storeRoot: string,
  notes: readonly string[],
  hold: LayerHold,
): RootImage {
  const layers = ready.layers.map((layer) => layerFolder(storeRoot, layer));
  return {
    name: wish.name,
    why: wish.why,
    source: { kind: "layers", layers },
    ready,
    notes,
    release: () => hold.release(),
  };
}
