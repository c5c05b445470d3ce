/** A policy as the spec that `ak-jail` builds from (native/jail/src/spec.rs). Pure. */
import type { BootSpec, GitFiles, ImageSource } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import type { Policy, ResourcePolicy } from "../../core/policy.js";
import { type HideGroup, hideGroups } from "./hide-groups.js";

interface JailView {
  readonly source: string;
  readonly target: string;
  readonly form: "copy" | "sync" | "mount";
  readonly readonly: boolean;
  /** Shown at the path that it has on the host as well. */
  readonly atSource?: true;
  /** It is the repository of the project. */
  readonly repository?: { readonly own: string; readonly part: string };
}

/** gVisor's program, and how it gets hold of system calls. */
export interface JailRuntime {
  readonly program: string;
  readonly platform: "systrap" | "kvm" | "ptrace";
}

/** A virtual machine's monitor in the guest's place: what it is told, and the files that it gets as descriptors. */
interface JailMonitor {
  readonly words: readonly string[];
  readonly files: readonly { readonly path: string; readonly writable: boolean }[];
  readonly kvm: boolean;
  /** It is spoken to on Unix sockets that it makes in its jail. */
  readonly unixSockets: boolean;
}

export interface JailSpec {
  readonly version: 1;
  readonly hostname: string;
  readonly guest: string;
  readonly ids: "single" | "range" | "best";
  readonly user: { readonly uid: number; readonly gid: number };
  readonly root: Exclude<ImageSource, { readonly kind: "engine" }>;
  readonly rootReadonly: boolean;
  readonly scratchMib: number;
  /** Set where it is to be disk, as far as that is possible. */
  readonly diskMib?: number;
  readonly tmpMib: number;
  readonly views: readonly JailView[];
  readonly hide: readonly HideGroup[];
  readonly protect: readonly string[];
  readonly review: readonly string[];
  /** Where what is not carried over is kept. */
  readonly setAside?: string;
  readonly capabilities: "default" | "none";
  readonly seccomp: "default" | "strict";
  readonly landlockWritable: readonly string[];
  readonly limits: {
    readonly vcpus: number;
    readonly memoryMib: number;
    readonly pids: number;
    readonly openFiles: number;
  };
  /** `captured`: what would leave the sandbox arrives at the guest, which asks the host about it. */
  readonly network: "none" | "captured" | "proxied";
  readonly trustedCertificate: string | null;
  readonly git?: GitFiles;
  readonly journal: string;
  readonly gvisor?: JailRuntime;
  readonly monitor?: JailMonitor;
  /** The state folder of a persistent sandbox. */
  readonly state?: string;
  /** It is built without what is shown, and waits for a second spec of the same shape. */
  readonly warm?: true;
  /** The number of the look ahead that was made for it. */
  readonly foreseen?: number;
}

/** Whom a sandbox without root runs as. */
const SANDBOX_ID = 1000;
const MAX_ID = 65_535;

export interface JailPaths {
  readonly guestBinary: string;
  /** Where the jail notes what must be undone on the host after a crash. */
  readonly journalDir: string;
  /** The guest runs on gVisor's kernel, and that in the jail. */
  readonly gvisor?: JailRuntime;
}

/** The parts of a spec that differ for each sandbox. */
type OwnPart = "hostname" | "trustedCertificate" | "git" | "foreseen";

/** Of a spec: what does not differ between sandboxes of one policy that show the same. */
export type SpecBasis = Omit<JailSpec, OwnPart>;

export function jailSpec(boot: BootSpec, paths: JailPaths): JailSpec {
  return { ...ownPart(boot), ...specBasis(boot, paths) };
}

function ownPart({ hostname, trustedCertificate, git, prescan }: BootSpec): Pick<JailSpec, OwnPart> {
  return {
    hostname,
    trustedCertificate: trustedCertificate ?? null,
    ...(git === undefined ? {} : { git }),
    ...(prescan === undefined ? {} : { foreseen: prescan }),
  };
}

const basisTexts = new WeakMap<SpecBasis, string>();

/** The spec as the jail reads it. Most of it is the same for many, and written once for them. */
export function bootText(boot: BootSpec, paths: JailPaths): string {
  const basis = specBasis(boot, paths);
  const text = basisTexts.get(basis) ?? JSON.stringify(basis);
  basisTexts.set(basis, text);
  return `${JSON.stringify(ownPart(boot)).slice(0, -1)},${text.slice(1)}`;
}

/** For a jail that was built by `basis`: what the boot's spec has beyond it, or all of it where that is another one. */
export function takeText(boot: BootSpec, paths: JailPaths, basis: SpecBasis): string {
  if (specBasis(boot, paths) !== basis) return bootText(boot, paths);
  return JSON.stringify({ take: { ...ownPart(boot), sources: basis.views.map(({ source }) => source) } });
}

interface KnownBasis extends Pick<BootSpec, "image" | "projectDir" | "homeDir" | "setAside" | "isOnDisk"> {
  readonly beside: string;
  readonly paths: JailPaths;
  readonly basis: SpecBasis;
}

/** Policies are frozen, and most who run something run it again. */
const knownBases = new WeakMap<Policy, KnownBasis>();

/** The same value for the same folders and the same image of one policy. */
export function specBasis(boot: BootSpec, paths: JailPaths): SpecBasis {
  const { policy, image, projectDir, homeDir, setAside } = boot;
  const beside = besideProject(boot);
  const known = knownBases.get(policy);
  const isSame = known?.paths === paths && known.image === image && known.setAside === setAside;
  const isThere = known?.isOnDisk === boot.isOnDisk;
  const isHere = isThere && known?.projectDir === projectDir && known.homeDir === homeDir && known.beside === beside;
  if (isSame && isHere) return known.basis;
  const basis = makeBasis(boot, paths);
  // Only what cannot change any more is what it was.
  if (Object.isFrozen(policy) && Object.isFrozen(image)) {
    knownBases.set(policy, {
      paths,
      image,
      projectDir,
      homeDir,
      basis,
      beside,
      ...(setAside === undefined ? {} : { setAside }),
      ...(boot.isOnDisk === undefined ? {} : { isOnDisk: boot.isOnDisk }),
    });
  }
  return basis;
}

/** What of git's is shown beside the project; mostly nothing. */
function besideProject({ repository, borrowed }: BootSpec): string {
  return repository === undefined && borrowed === undefined ? "" : JSON.stringify({ repository, borrowed });
}

function makeBasis(boot: BootSpec, paths: JailPaths): SpecBasis {
  const { policy, setAside } = boot;
  return {
    version: 1,
    guest: paths.guestBinary,
    ids: idChoice(boot, paths.gvisor !== undefined),
    user: policy.proc.noRoot ? unprivilegedUser(policy.proc.user) : { uid: 0, gid: 0 },
    root: ownRoot(boot.image),
    rootReadonly: policy.fs.rootReadonly,
    scratchMib: scratchMiB(policy.resources),
    ...(canBeOnDisk(boot, paths) ? { diskMib: policy.resources.diskMiB } : {}),
    tmpMib: Math.min(policy.fs.tmpMiB, Math.max(4, Math.floor(policy.resources.memoryMiB / 4))),
    views: views(boot, paths.gvisor !== undefined),
    hide: hideGroups(policy.fs.deny),
    protect: policy.fs.protect,
    review: policy.fs.review,
    ...(setAside === undefined ? {} : { setAside }),
    capabilities: policy.proc.capabilities,
    seccomp: policy.proc.seccomp,
    landlockWritable: writablePaths(policy),
    limits: {
      vcpus: policy.resources.vcpus,
      memoryMib: policy.resources.memoryMiB,
      pids: policy.resources.pids,
      openFiles: policy.resources.openFiles,
    },
    network: policy.net.egress === "off" ? "none" : paths.gvisor === undefined ? "captured" : "proxied",
    journal: paths.journalDir,
    ...(paths.gvisor === undefined ? {} : { gvisor: paths.gvisor }),
  };
}

/** Only root can make a file system for it, and gVisor keeps what is written in its own memory. */
function canBeOnDisk({ isOnDisk }: BootSpec, { gvisor }: JailPaths): boolean {
  return isOnDisk === true && gvisor === undefined && process.geteuid?.() === 0;
}

function ownRoot(image: ImageSource): JailSpec["root"] {
  if (image.kind !== "engine") return image;
  throw new AgentKernelError("internal", "an image in an engine's store cannot be the root of a linux sandbox");
}

/**
 * What a temporary sandbox writes is kept in memory and counts against its memory limit. A part of that is left to
 * the processes, so that a full disk is an error that a program can handle before memory runs out.
 */
export function scratchMiB(resources: ResourcePolicy): number {
  return Math.min(resources.diskMiB, Math.max(16, Math.floor(resources.memoryMiB * 0.75)));
}

/**
 * A single id is quicker, and root that can become nobody else cannot get around limits that count by id. An image has
 * files of several owners, and programs that change between them. What runs gVisor is root of the jail, so that anybody
 * else in the sandbox needs a second id.
 */
function idChoice({ policy: { proc }, image }: BootSpec, hasOwnKernel: boolean): JailSpec["ids"] {
  if (proc.noRoot) return hasOwnKernel ? "range" : "single";
  if (proc.user !== null && !/^(root|0)(:(root|0))?$/.test(proc.user)) return "range";
  return image.kind === "layers" ? "best" : "single";
}

/** Nothing in such a sandbox is root, the guest neither, so the guest runs as the user that was asked for. */
export function unprivilegedUser(user: string | null): { uid: number; gid: number } {
  if (user === null || user === "sandbox") return { uid: SANDBOX_ID, gid: SANDBOX_ID };
  const [uid, gid = uid] = user.split(":").map((part) => (/^\d{1,5}$/.test(part) ? Number(part) : Number.NaN));
  if (uid === undefined || gid === undefined || !(uid > 0 && uid <= MAX_ID) || !(gid >= 0 && gid <= MAX_ID)) {
    throw new AgentKernelError("bad_user", `the user "${user}" is not known in a sandbox without root`, {
      hint: (wording) => `name it by numbers from 1 to 65535, for example ${wording.with("proc.user", "1000:1000")}`,
    });
  }
  return { uid, gid };
}

function views(boot: BootSpec, hasOwnKernel: boolean): readonly JailView[] {
  const { policy, projectDir, homeDir, repository, borrowed } = boot;
  const shown: JailView[] = [];
  const { mode, readonly } = policy.fs.workspace;
  if (mode !== "none") {
    if (projectDir === null) throw new AgentKernelError("internal", `workspace ${mode} without a project folder`);
    shown.push({ source: projectDir, target: "/workspace", form: mode, readonly, atSource: true });
  }
  if (repository !== undefined) {
    const { directory, files, own, part } = repository;
    // A commit that would not be carried over must fail; in a copy everything is the sandbox's own.
    const isSynced = mode === "sync" && !readonly && !hasOwnKernel;
    const form = isSynced ? "sync" : "copy";
    const isReadonly = readonly || (mode !== "copy" && !isSynced);
    const parts = { repository: { own, part } };
    shown.push({ source: directory, target: directory, form, readonly: isReadonly, ...parts });
    for (const file of files) shown.push({ source: file, target: file, form: "copy", readonly: true });
  }
  for (const store of borrowed ?? []) shown.push({ source: store, target: store, form: "copy", readonly: true });
  if (policy.fs.home === "readonly" && homeDir !== null) {
    shown.push({ source: homeDir, target: homeDir, form: "copy", readonly: true });
  }
  for (const mount of policy.fs.mounts) {
    const form = mount.readonly ? "copy" : "mount";
    shown.push({ source: mount.host, target: mount.guest, form, readonly: mount.readonly });
  }
  return shown;
}

export function writablePaths(policy: Policy): readonly string[] {
  if (policy.proc.landlock === "default") return ["/"];
  const mounts = policy.fs.mounts.filter((mount) => !mount.readonly).map((mount) => mount.guest);
  const project = policy.fs.workspace.readonly ? [] : ["/workspace"];
  return [...project, ...mounts, "/tmp", "/home/sandbox", "/dev", "/proc"];
}
