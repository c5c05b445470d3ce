/**
 * From the image that is wanted to a root that a sandbox can start from. An image that is in the store costs one small
 * file to read; everything that downloads, imports or unpacks is loaded only when it is needed.
 */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Backend, ImageSource } from "../core/backend.js";
import { AgentKernelError, isAgentKernelError } from "../core/errors.js";
import { lockedReference } from "../images/image-lock.js";
import { hostPlatform, platformText } from "../images/platform.js";
import { readLock } from "../images/project-lock.js";
import { canonicalForm, parseReference } from "../images/reference.js";
import { holdImage, type LayerHold } from "../images/store/hold.js";
import type { HeldImage } from "../images/store/kept-hold.js";
import { findReady, layerFolder, noteUse, type ReadyImage } from "../images/store/ready.js";
import { pullChoices } from "../settings/choices.js";
import type { Fetched, FetchSettings, ImageProgress } from "./fetch-image.js";
import { type HostPrograms, hostPrograms } from "./host-programs/index.js";
import type { HostProgramOptions } from "./host-programs/options.js";

export interface ImageRequest {
  /** A reference, a path or another place to import from, or `host`. */
  readonly name: string;
  /** Why this one and no other. */
  readonly why: string;
  /** The user said it outright: it is never replaced. */
  readonly named: boolean;
}

export { pullChoices };
export type PullChoice = (typeof pullChoices)[number];

export interface ImageSettings extends FetchSettings {
  /** Where a lock file may lie, and paths start. */
  readonly projectDir: string;
  /** Decides which programs of the host outside /usr are shown; absent: none. */
  readonly programs?: HostProgramOptions;
}

/** Defaults of an image for commands. */
export type ImageDefaults = Pick<ReadyImage, "env" | "entrypoint" | "cmd" | "workdir" | "user">;

export interface StoredRoot extends HeldImage {
  readonly storeRoot: string;
}

export interface ResolvedRoot {
  readonly name: string;
  readonly why: string;
  readonly source: ImageSource;
  /** Null for the host's own programs. */
  readonly defaults: ImageDefaults | null;
  /** Search path of the host's own programs; absent: the system's directories. */
  readonly programs?: SearchedPrograms;
  /** Null where no digest stands for all of it. */
  readonly digest: string | null;
  /** The part of the store that must be held while it is used; null where it is not from there. */
  readonly stored: StoredRoot | null;
  /** Notes for the user, one line each. */
  readonly notes: readonly string[];
  /** After the sandbox has ended. */
  release(): Promise<void>;
}

/** Settings for commands of a sandbox with the host's programs. */
export type SearchedPrograms = Pick<HostPrograms, "path" | "env" | "leftOut">;

export interface ImageWatcher {
  readonly onProgress?: ((progress: ImageProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Where a place may be read from; without it nothing is read. */
  readonly stdin?: (() => AsyncIterable<Buffer> | null) | undefined;
}

const HOST = "host";
const NO_NOTES: readonly string[] = [];
const PLACE = /^(?:\.{0,2}\/|(?:docker-archive|oci-archive|oci|dir|rootfs|docker-daemon|containers-storage|podman):)/;

/** Whether the name is a place to import from, and no reference. */
export function isPlace(name: string): boolean {
  return PLACE.test(name);
}

/** The folder that is a root filesystem as it is; null where the name means something else. */
export function rootFolder(name: string, cwd: string): string | null {
  if (!/^(?:\.{0,2}\/|rootfs:)/.test(name)) return null;
  const path = resolve(cwd, name.replace(/^rootfs:/, ""));
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return null;
  return existsSync(join(path, "oci-layout")) ? null : path;
}

export async function resolveRoot(
  request: ImageRequest,
  settings: ImageSettings,
  watcher: ImageWatcher = {},
  backend: Pick<Backend, "findImage"> = {},
): Promise<ResolvedRoot> {
  if (backend.findImage !== undefined) return await ownRoot(backend.findImage, request, settings, watcher);
  if (request.name === HOST) return hostRoot(request.why, settings, NO_NOTES);
  const folder = rootFolder(request.name, settings.projectDir);
  if (folder !== null) return folderRoot(request, folder);
  try {
    return await storedRoot(request, settings, watcher);
  } catch (error) {
    if (watcher.signal?.aborted === true || !isAgentKernelError(error)) throw error;
    if (request.named) throw naming(request, error);
    // A file that says which image it must be, and cannot be followed, is no leave to take another.
    if (error.code === "invalid_policy") throw error;
    const why = `${request.name} could not be had: ${error.message}`;
    return hostRoot(why, settings, [`using this machine's own programs (image host): ${why}`]);
  }
}

/** A registry's failure alone leaves open which image it was about. */
function naming({ name }: ImageRequest, error: AgentKernelError): AgentKernelError {
  const { code, message, hint, details, cause } = error;
  if (message.includes(name)) return error;
  const extras = { details, cause, ...(hint === undefined ? {} : { hint }) };
  return new AgentKernelError(code, `image ${name}: ${message}`, extras);
}

/** From the backend's own store. Nothing takes its place: such a backend cannot run the host's own programs. */
async function ownRoot(
  find: NonNullable<Backend["findImage"]>,
  { name, why }: ImageRequest,
  { pull }: ImageSettings,
  { onProgress, signal }: ImageWatcher,
): Promise<ResolvedRoot> {
  if (isPlace(name)) {
    throw new AgentKernelError("unsupported", `${name} cannot be used on this backend, which has images of its own`, {
      hint: "load it into the engine (docker load, podman load) and name it there",
    });
  }
  onProgress?.({ kind: "begin", name });
  const found = await find({
    reference: name,
    pull,
    onPull: ({ id: digest, ...sizes }) => onProgress?.({ kind: "download", layer: { digest, ...sizes } }),
    ...(signal ? { signal } : {}),
  });
  onProgress?.({ kind: "end" });
  return { name, why, ...found, stored: null, notes: [], release: async () => {} };
}

/** The same value every time: what is worked out for it can be found by it. */
const hostSource: ImageSource = Object.freeze({ kind: HOST });

/** By the caller's environment, which is the same value for who calls again. */
const hostSources = new WeakMap<object, HostSource>();
/** Of programs that were found before: they need not be compared again. */
const sourcesOf = new WeakMap<HostPrograms["shown"], HostSource>();

type HostSource = ImageSource & { readonly kind: "host" };

const release = async (): Promise<void> => {};

/** Of programs that were found before. */
const rootsOf = new WeakMap<HostPrograms, ResolvedRoot>();

function hostRoot(why: string, { programs: options }: ImageSettings, notes: readonly string[]): ResolvedRoot {
  const found = options === undefined ? null : hostPrograms(options);
  const known = found === null ? undefined : rootsOf.get(found);
  if (known?.why === why && known.notes === notes) return known;
  const source = options === undefined || found === null ? hostSource : sourceOf(found.shown, options.env);
  const own = { name: HOST, why, source, defaults: null, digest: null, stored: null, notes, release };
  if (found === null) return own;
  const root = { ...own, programs: found };
  rootsOf.set(found, root);
  return root;
}

function sourceOf(programs: HostPrograms["shown"], env: object): ImageSource {
  if (programs.length === 0) return hostSource;
  const compared = sourcesOf.get(programs);
  if (compared !== undefined) return compared;
  const known = hostSources.get(env);
  const isSame = known !== undefined && JSON.stringify(known.programs) === JSON.stringify(programs);
  const source = isSame ? known : Object.freeze({ kind: HOST, programs: Object.freeze(programs) } as const);
  hostSources.set(env, source);
  sourcesOf.set(programs, source);
  return source;
}

function folderRoot({ name, why }: ImageRequest, folder: string): ResolvedRoot {
  const defaults = { env: [], entrypoint: [], cmd: [], workdir: null, user: null };
  const source = { kind: "layers", layers: [folder] } as const;
  return { name, why, source, defaults, digest: null, stored: null, notes: [], release: async () => {} };
}

async function storedRoot(
  request: ImageRequest,
  settings: ImageSettings,
  watcher: ImageWatcher,
): Promise<ResolvedRoot> {
  const { storeRoot } = settings;
  const { ready: first, notes } = await readyImage(request, settings, watcher);
  const find = (): ReadyImage | null => findReady(storeRoot, first.reference, first.platform);
  // Held first and looked at again after: what is held is not removed any more.
  let hold = await holdImage(storeRoot, first);
  const ready = find();
  if (ready === null) {
    await hold.release();
    throw new AgentKernelError("image_unavailable", `${request.name} was removed from the store meanwhile`, {
      hint: "run it again",
    });
  }
  if (ready.manifestDigest !== first.manifestDigest) hold = await exchange(hold, storeRoot, ready);
  noteUse(storeRoot, ready.reference, ready.platform);
  return {
    name: request.name,
    why: request.why,
    source: { kind: "layers", layers: ready.layers.map((layer) => layerFolder(storeRoot, layer)) },
    defaults: ready,
    digest: ready.digest,
    stored: { storeRoot, manifestDigest: ready.manifestDigest, layers: ready.layers },
    notes,
    release: () => hold.release(),
  };
}

async function readyImage(request: ImageRequest, settings: ImageSettings, watcher: ImageWatcher): Promise<Fetched> {
  const options = { ...settings, ...watcher, remember: !request.named };
  if (isPlace(request.name)) {
    const { bringImage } = await import("./fetch-image.js");
    return await bringImage(request.name, options);
  }
  const reference = lockedReference(readLock(settings.projectDir), parseReference(request.name));
  const platform = platformText(hostPlatform());
  const ready = settings.pull === "always" ? null : findReady(settings.storeRoot, canonicalForm(reference), platform);
  if (ready !== null) return { ready, notes: [] };
  const { fetchImage } = await import("./fetch-image.js");
  return await fetchImage(reference, options);
}

/** The tag may have moved between the two looks. */
async function exchange(hold: LayerHold, storeRoot: string, ready: ReadyImage): Promise<LayerHold> {
  const fresh = await holdImage(storeRoot, ready);
  await hold.release();
  return fresh;
}
