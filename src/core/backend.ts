/**
 * The one narrow interface that every backend implements: boot this spec, give me the byte stream, stop it,
 * tell me when it died. Everything else (exec, files, PTY, network) travels over the stream to the guest.
 */
import type { Duplex } from "node:stream";
import { backendChoices, usableBackends } from "../settings/choices.js";
import type { PersistentChanges } from "./changes.js";
import type { HeartbeatTiming } from "./heartbeat-timing.js";
import type { Policy } from "./policy.js";

export const backendNames = ["linux", "docker", "podman", "gvisor", "microvm", "wasm", "apple", "kubernetes"] as const;
export type BackendName = (typeof backendNames)[number];

export { backendChoices, usableBackends };

/** A directory or file of the host that the image `host` shows at its own path, or a symlink that is made there. */
export interface HostProgram {
  readonly path: string;
  readonly link?: string;
}

export type ImageSource =
  | { readonly kind: "host"; readonly programs?: readonly HostProgram[] }
  /** Folders of unpacked layers, absolute, the uppermost first. */
  | { readonly kind: "layers"; readonly layers: readonly string[] }
  /** An image in the store of the backend's own engine, by its id there. */
  | { readonly kind: "engine"; readonly engine: "docker" | "podman" | "apple"; readonly id: string };

export interface BootSpec {
  readonly id: string;
  readonly hostname: string;
  readonly policy: Policy;
  readonly image: ImageSource;
  /** The folder shown as /workspace, absolute; null where the workspace mode is `none`. */
  readonly projectDir: string | null;
  /** The user's home folder, absolute, for policies that show it. */
  readonly homeDir: string | null;
  /** PEM of a certificate that programs in the sandbox are to trust, at `trustPaths`. */
  readonly trustedCertificate?: string;
  /** The project's repository, where that is elsewhere. Shown at its own path. */
  readonly repository?: LinkedRepository;
  /** Object stores that the project's repository borrows of: absolute. Shown read-only at their own paths. */
  readonly borrowed?: readonly string[];
  /** For git inside, at `gitPaths`. */
  readonly git?: GitFiles;
  /** Folder for what is not carried over from a synced project, until the user decides. */
  readonly setAside?: string;
  /** More disk was asked for than memory holds: what it changes is to lie on the host's disk. */
  readonly isOnDisk?: boolean;
  /** The number of a look ahead at the project that was made for this one. */
  readonly prescan?: number;
}

export interface LinkedRepository {
  /** Absolute and free of links: what all its working trees share. */
  readonly directory: string;
  /** What this working tree has of its own in it: empty, or `worktrees/NAME`. */
  readonly own: string;
  /** The directory of the working tree that is the project; empty where it is all of it. */
  readonly part: string;
  /** `.git` files outside of the project that lead to it: absolute. */
  readonly files: readonly string[];
}

/** Texts of two files of git's. */
export interface GitFiles {
  /** Who the user is. */
  readonly config: string;
  /** Names that git passes over: they are held by us, and are no files of the user's. */
  readonly ignored: string;
}

export const gitPaths = { config: "/etc/agentkernel/gitconfig", ignored: "/etc/agentkernel/gitignore" } as const;

/** Where a trusted certificate lies inside: alone, and with what the root trusts besides. */
export const trustPaths = { own: "/etc/agentkernel/ca.pem", bundle: "/etc/agentkernel/ca-bundle.pem" } as const;

/** One wall of the sandbox and whether it stands. `partial` and `absent` say what is missing in `detail`. */
export interface Layer {
  readonly name: string;
  readonly state: "applied" | "partial" | "absent";
  readonly detail?: string;
  /** Only of the layer `hidden-files`. */
  readonly hidden?: HiddenFiles;
}

/** The part of the project that a sandbox does not see. */
export interface HiddenFiles {
  readonly count: number;
  /** How many files of them git tracks, so that its objects have them. */
  readonly tracked: number;
  /** The first of them; `policy explain` lists all. */
  readonly files: readonly HiddenFile[];
}

export interface HiddenFile {
  /** Relative to the project. */
  readonly path: string;
  readonly reason: string;
}

/** Reports what `sync` wrote into the project. Paths are relative to the project. */
export interface CarryReport {
  readonly written: readonly string[];
  readonly deleted: readonly string[];
  /** Changed on the host meanwhile: left as the host has them. The sandbox's version is set aside. */
  readonly conflicts: readonly string[];
  /** Hidden, protected, or not a file, folder or link. */
  readonly refused: readonly string[];
  /** Set aside until the user has said yes: they steer what the user runs later. */
  readonly held: readonly string[];
  /** The name under which `diff` and `apply` find what was set aside; null where nothing was. */
  readonly heldAs: string | null;
  /** How many paths of each list were cut from this report. */
  readonly omitted: number;
  /** Why git repositories were left as they were, in sentences. */
  readonly repositories: readonly string[];
}

export interface SandboxEnd {
  /** Why process 1 ended: its own exit, or by a signal. */
  readonly code: number | null;
  readonly signal: number | null;
  readonly oomKills: number;
  readonly pidsDenied: number;
  readonly memoryPeakBytes: number | null;
  readonly cpuUs: number | null;
  readonly carried: CarryReport | null;
  /** The engine's own message about its failure. */
  readonly said?: string;
}

/** How often limits were hit. */
export interface LimitCounts {
  readonly oomKills: number;
  readonly pidsDenied: number;
}

/** Resources used so far; null where the backend cannot tell. */
export interface UsedSoFar extends LimitCounts {
  readonly memoryPeakBytes: number | null;
  readonly cpuUs: number | null;
}

/** Answers the requests of a lazy view, which come and are answered on this stream. Once. */
export type ServeView = (stream: Duplex) => void;

export type OnStream = (stream: Duplex, serveView?: ServeView) => void;

export interface BootedSandbox {
  /** The byte stream to the guest. */
  readonly stream: Duplex;
  readonly layers: readonly Layer[];
  /** Settles when the sandbox is gone, whoever ended it, and nothing of it is left but what `removed` speaks of. */
  readonly ended: Promise<SandboxEnd>;
  /**
   * Where an engine goes on removing what it kept of it, after its end: settles when it has, or when that is left to
   * whoever sweeps. Never rejects.
   */
  readonly removed?: Promise<void>;
  /** Settles soon after `finish` was called, before the end: what it used. May never settle where it ends otherwise. */
  readonly ending?: Promise<UsedSoFar>;
  /** Counts limits that were hit so far; null where that would need a question to the sandbox. */
  readonly limitsHit?: () => LimitCounts | null;
  /** Where the guest asks for parts of the project as they are touched. */
  readonly serveView?: ServeView;
  /** It was built before it was asked for. */
  readonly isWarm?: boolean;
  /** Set where the guest has a kernel of its own, and so can stop without its stream ending. */
  readonly heartbeat?: HeartbeatTiming;
  /** Ends it: kills every process, carries changes over where the policy says so, removes all traces. Idempotent. */
  finish(): Promise<SandboxEnd>;
  /** Ends it without carrying anything over. Idempotent. */
  kill(): Promise<SandboxEnd>;
}

/** An image of the backend's own store. */
export interface OwnImage {
  readonly source: ImageSource;
  /** Defaults of the image for commands. */
  readonly defaults: {
    readonly env: readonly string[];
    readonly entrypoint: readonly string[];
    readonly cmd: readonly string[];
    readonly workdir: string | null;
    readonly user: string | null;
  };
  readonly digest: string | null;
}

export interface OwnImageRequest {
  readonly reference: string;
  readonly pull: "missing" | "always" | "never";
  /** How much of a part of it is here. */
  readonly onPull?: (part: { readonly id: string; readonly doneBytes: number; readonly totalBytes: number }) => void;
  readonly signal?: AbortSignal;
}

/** Something the contract suite asks for that this backend honestly cannot do. */
export interface Lack {
  readonly capability: string;
  readonly reason: string;
}

export interface Backend {
  readonly name: BackendName;
  readonly lacks: readonly Lack[];
  /** A sandbox gets its memory as a whole, in place of a limit on what it takes. */
  readonly allotsMemory?: true;
  /** Its layers say what of the project is hidden. */
  readonly tellsHidden?: true;
  /**
   * Rejects with an AgentKernelError and leaves nothing behind if the sandbox could not be started. `onStream` is called
   * as soon as there is a stream that the guest will read from its first byte, before anything of it runs; again with
   * another where that sandbox did not come about and another takes its place.
   */
  boot(spec: BootSpec, signal?: AbortSignal, onStream?: OnStream): Promise<BootedSandbox>;
  /** Where it takes images from a store of its own; without it they come from ours. */
  findImage?(request: OwnImageRequest): Promise<OwnImage>;
  /** Without it the backend has only sandboxes that die with their owner. */
  readonly kept?: PersistentBackend;
  /** Selects the parts of a spec that must be fixed before a sandbox is built. None or null: none is built ahead. */
  shapeOf?(spec: BootSpec): WarmShape | null;
}

/** A kind of sandbox that can be built before anybody asks for one. */
export interface WarmShape {
  /** Equal for all specs that the same sandbox could serve. */
  readonly key: string;
  /** For people. */
  readonly label: string;
  /**
   * Builds one. Nothing of the spec that the shape was made from is in it. Nothing is left where it rejects, also where
   * it was given up by the signal; one that is quicker than the signal may be built nevertheless.
   */
  build(signal: AbortSignal): Promise<WarmSandbox>;
}

/** A sandbox that is built and belongs to nobody yet. It serves one spec of its shape, and is never handed on. */
export interface WarmSandbox {
  /** Settles when nothing of it is left, or when it has been taken. Never rejects. */
  readonly over: Promise<void>;
  /** Once. Rejects where it cannot serve this one; then nothing of it is left, and another sandbox may do. */
  take(spec: BootSpec, signal?: AbortSignal, onStream?: OnStream): Promise<BootedSandbox>;
  /**
   * Somebody will probably take it with this folder as the project: it may look at it already. What it saw counts only
   * for a spec that names the number, since the folder may be another by the time of any other.
   */
  prescan?(number: number, folder: string): void;
  /** Ends it, unless it has been taken. */
  discard(): Promise<void>;
}

/** Current and total use of resources; null where the backend cannot tell. */
export interface SandboxUsage {
  readonly memoryBytes: number | null;
  readonly memoryPeakBytes: number | null;
  readonly cpuUs: number | null;
  readonly processes: number | null;
  readonly oomKills: number;
  readonly pidsDenied: number;
}

export interface PersistentStatus {
  readonly paused: boolean;
  readonly usage: SandboxUsage;
}

/** How an owner's time with a kept sandbox ended. */
export type PersistentEnding =
  /** Nothing of it runs any more; its disk is as it was. */
  | { readonly how: "ended"; readonly end: SandboxEnd }
  /** Nobody saw how: the process that owned it on the host was killed. */
  | { readonly how: "lost" }
  /** It goes on with another owner. */
  | { readonly how: "replaced" }
  /** It goes on without one. */
  | { readonly how: "released" };

/** A running sandbox that outlives its owner. One owner at a time: a newer one takes the place of the one before. */
export interface PersistentSandbox {
  readonly layers: readonly Layer[];
  readonly startedAtMs: number;
  /** Settles once, and never rejects. */
  readonly over: Promise<PersistentEnding>;
  /** As of a `BootedSandbox`. */
  readonly heartbeat?: HeartbeatTiming;
  /** A new byte stream to the guest; the one before, whoever had it, is closed. */
  connect(): Promise<Duplex>;
  status(): Promise<PersistentStatus>;
  /** Rejects with `unsupported` where the layer `freezer` is absent. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /**
   * Where copies of it can have its memory too: holds it still, with its memory saved, until it is let go of or its owner
   * dies. It must run, and not be paused.
   */
  readonly hold?: ((signal?: AbortSignal) => Promise<HeldStill>) | undefined;
  /** Ends it: in order within the grace time, then by force; carries changes over where the policy says so. */
  stop(graceMs: number): Promise<SandboxEnd>;
  /** `why`: told with the end, where a backend can. */
  kill(why?: string): Promise<SandboxEnd>;
  /** Lets go of it. It runs on, and can be adopted. */
  release(): void;
}

/** A sandbox that stands still, with its memory saved. */
export interface HeldStill {
  /** It goes on. Idempotent; never rejects, also where it has ended meanwhile. */
  letGo(): Promise<void>;
}

/** How the last sandbox in a state folder ended. */
export interface LastEnd {
  readonly atMs: number;
  /** Nobody saw it end; `end` is a guess. */
  readonly lost: boolean;
  readonly end: SandboxEnd;
}

/**
 * Sandboxes that outlive their owner. Each has a state folder, the caller's own with mode 0700, which also takes what
 * the sandbox writes to its root and to a copied project, from one start to the next.
 */
export interface PersistentBackend {
  /** Rejects with `conflict` where one runs. Clears up after an earlier one that was killed. */
  start(spec: BootSpec, stateDir: string, signal?: AbortSignal): Promise<PersistentSandbox>;
  /** Takes over what runs there; null where nothing does, and then nothing of it is left but its disk and its end. */
  adopt(stateDir: string): Promise<PersistentSandbox | null>;
  lastEnd(stateDir: string): Promise<LastEnd | null>;
  /** Removes the folder with everything in it. Rejects with `conflict` where one runs. */
  remove(stateDir: string): Promise<void>;
  /** Without it the backend cannot tell what a sandbox changed. */
  readonly changes?: PersistentChanges;
  /** Without it the backend cannot make a second one of what a sandbox has written: no snapshots, no forks. */
  readonly copies?: SandboxCopies;
}

/** Counts what a copy contains; null where the backend cannot tell. */
export interface SandboxCopy {
  readonly entries: number | null;
  readonly bytes: number | null;
  /** True: memory was copied too, so that the copy goes on where its original was. Absent: files alone. */
  readonly memory?: boolean;
}

/** Says whether a copy includes memory. */
export interface MemoryOptions {
  /** Files alone where it is false, also of what was saved with its memory. */
  readonly isWanted: boolean;
  /** The running sandbox, paused for the copy. */
  readonly held: HeldStill | null;
}

/**
 * Copies of what kept sandboxes have. A copy is a state folder like any other, of a sandbox that was never started: it
 * can be started, copied and removed. So a snapshot is a copy that nobody starts. One that has memory begins, the first
 * time that it is started, where that was saved.
 */
export interface SandboxCopies {
  /** Files alone, or the memory of what runs as well: then a copy goes on where its original was. */
  readonly of: "files" | "files and memory";
  /**
   * Of the sandbox in `stateDir`, which does not run or is paused, into an empty folder of the caller's own with mode
   * 0700. Where it rejects, `remove` clears what it left there. Neither side sees what the other writes from then on.
   * What does not run and was never started has its memory if it was saved with it.
   */
  make(stateDir: string, into: string, signal?: AbortSignal, memory?: MemoryOptions): Promise<SandboxCopy>;
}
