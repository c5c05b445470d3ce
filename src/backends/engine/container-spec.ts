/**
 * A policy as the container that an engine is asked for. Everything that the engine can hold it holds; what it cannot,
 * the container's first program does (entry/order.ts). Pure.
 */
import type { BootSpec } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import type { Policy } from "../../core/policy.js";
import { type CopiedView, isLive, LIVE_PLACE, type LiveView, liveSource } from "../entry/views.js";
import { scratchMiB } from "../linux/jail-spec.js";
import type { Labels } from "./labels.js";

export interface ProgramPaths {
  readonly entryBinary: string;
  readonly guestBinary: string;
}

/** `arranged`: the first program may arrange mounts; it closes those calls itself afterwards. */
export type SeccompChoice = `${Policy["proc"]["seccomp"]}${"" | "-arranged"}`;

/** Files that are the same for all containers, as paths on the host. */
export interface SharedFiles {
  /** Of /etc, for roots that cannot be written. */
  readonly hosts: string;
  readonly captured: string;
  readonly offline: string;
  /** A directory that has a mount point for each of our programs and for shown folders, and nothing in them. */
  readonly mountPoints: string;
  /** The value of the engine's option, by the policy's choice. */
  readonly seccomp: Readonly<Record<SeccompChoice, string>>;
}

interface ContainerParts {
  readonly boot: BootSpec;
  readonly views: readonly CopiedView[];
  readonly live: readonly LiveView[];
  readonly labels: Labels;
  readonly programs: ProgramPaths;
  readonly files: SharedFiles;
  /** What the engine may give at most, where it has to be told; null where it gives what it likes. */
  readonly maxProcesses: number | null;
  readonly isKept: boolean;
}

const MIB = 1 << 20;
/**
 * Where our programs are in a container. The engine runs one of them by its path while the sandbox's own processes run,
 * so no part of the path may be theirs to change: the directory is a read-only mount of its own, and the kernel renames
 * and removes no mount point.
 */
export const PROGRAMS = "/.agentkernel";
export const ENTRY = `${PROGRAMS}/ak-entry`;
const GUEST = `${PROGRAMS}/ak-guest`;

/** Capabilities of a sandbox's root; the first program drops the last two, and all where the policy says so. */
export const CAPABILITIES = [
  ...["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "NET_BIND_SERVICE", "SYS_CHROOT"],
  ...["SETFCAP", "SETPCAP"],
];

/** Arranging mounts and making whiteouts, before anything untrusted runs. */
const ARRANGING = ["SYS_ADMIN", "MKNOD"];

/** Paths where a kernel describes the machine, which no command needs. Engines mask most of them, not all of /sys. */
const MASKED = [
  ...[
    "asound",
    "acpi",
    "cmdline",
    "kcore",
    "keys",
    "kmsg",
    "latency_stats",
    "timer_list",
    "timer_stats",
    "sched_debug",
    "scsi",
  ].map((name) => `/proc/${name}`),
  "/sys",
];

export function containerSpec(parts: ContainerParts): object {
  const { boot, views, live, labels, programs, files, isKept, maxProcesses } = parts;
  const { policy, image, hostname } = boot;
  const { resources, net, fs } = policy;
  const isCaptured = net.egress !== "off";
  const seccomp: SeccompChoice = live.length > 0 ? `${policy.proc.seccomp}-arranged` : policy.proc.seccomp;
  return {
    Hostname: hostname,
    Image: engineImage(image),
    Entrypoint: [ENTRY],
    Cmd: ["boot"],
    // What an image says of commands is for the commands, and the runtime's to pass on.
    User: "0:0",
    WorkingDir: "/",
    Env: [],
    Labels: labels,
    Tty: false,
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    NetworkDisabled: false,
    // Where the root cannot be written, what a kept sandbox keeps lies beside it, and goes with it.
    Volumes: isKept && fs.rootReadonly ? volumes(views) : {},
    // The engine's own would run programs of the image.
    Healthcheck: { Test: ["NONE"] },
    HostConfig: {
      AutoRemove: !isKept,
      RestartPolicy: { Name: "no" },
      NetworkMode: "none",
      IpcMode: "private",
      CgroupnsMode: "private",
      LogConfig: { Type: "none" },
      Memory: resources.memoryMiB * MIB,
      MemorySwap: resources.memoryMiB * MIB,
      NanoCpus: Math.round(resources.vcpus * 1e9),
      PidsLimit: resources.pids,
      Ulimits: [
        { Name: "nofile", Soft: resources.openFiles, Hard: resources.openFiles },
        ...(maxProcesses === null ? [] : [{ Name: "nproc", Soft: maxProcesses, Hard: maxProcesses }]),
      ],
      ShmSize: tmpMiB(boot) * MIB,
      CapDrop: ["ALL"],
      CapAdd: [...CAPABILITIES, ...(isCaptured ? ["NET_ADMIN"] : []), ...(live.length > 0 ? ARRANGING : [])],
      SecurityOpt: ["no-new-privileges", `seccomp=${files.seccomp[seccomp]}`, ...maskedBy(boot)],
      MaskedPaths: MASKED,
      // Without it some engines switch IPv6 off, also on loopback.
      Sysctls: { "net.ipv6.conf.all.disable_ipv6": "0", "net.ipv6.conf.lo.disable_ipv6": "0" },
      ReadonlyRootfs: fs.rootReadonly,
      Tmpfs: {
        ...temporaryPlaces(boot, [...views, ...live.filter((view) => !isLive(view))], isKept),
        ...livePlace(live),
      },
      Mounts: live.map((view, index) => ({
        Type: "bind",
        Source: view.source,
        Target: liveSource(index),
        ReadOnly: !isLive(view),
        BindOptions: { Propagation: "rprivate" },
      })),
      Binds: [
        `${files.mountPoints}:${PROGRAMS}:ro`,
        `${programs.entryBinary}:${ENTRY}:ro`,
        `${programs.guestBinary}:${GUEST}:ro`,
        ...(fs.rootReadonly ? [`${files.hosts}:/etc/hosts:ro`] : []),
        ...(fs.rootReadonly ? [`${isCaptured ? files.captured : files.offline}:/etc/resolv.conf:ro`] : []),
      ],
    },
  };
}

/** Podman hears of masked paths in this form only, which Docker does not know. */
function maskedBy({ image }: BootSpec): readonly string[] {
  return image.kind === "engine" && image.engine === "podman" ? [`mask=${MASKED.join(":")}`] : [];
}

export function engineImage(image: BootSpec["image"]): string {
  if (image.kind === "engine") return image.id;
  const message =
    image.kind === "host" ? "the image host is not possible on this backend" : "an image of another store";
  throw new AgentKernelError("unsupported", message, {
    hint: ({ name }) => `name an image with ${name("image")}: an engine runs images, not this machine's own programs`,
  });
}

export function tmpMiB({ policy: { fs, resources } }: BootSpec): number {
  return Math.min(fs.tmpMiB, Math.max(4, Math.floor(resources.memoryMiB / 4)));
}

/** In memory, and so with a limit. A kept sandbox has its project on the engine's disk, where it stays. */
function temporaryPlaces(
  boot: BootSpec,
  views: readonly Pick<CopiedView, "target">[],
  isKept: boolean,
): Record<string, string> {
  const { fs, resources } = boot.policy;
  // As many files as the linux backend allows in a place of that size. Podman takes no such limit.
  const isCounted = boot.image.kind === "engine" && boot.image.engine === "docker";
  const files = (mib: number) => (isCounted ? `,nr_inodes=${Math.max(4096, mib * 256)}` : "");
  const place = (mib: number, mode: string) => `rw,exec,nosuid,nodev,size=${mib}m${files(mib)},mode=${mode}`;
  const scratch = scratchMiB(resources);
  const places: Record<string, string> = { "/tmp": place(tmpMiB(boot), "1777") };
  if (isCounted) places["/dev/shm"] = place(tmpMiB(boot), "1777");
  if (!isKept) places["/workspace"] = place(scratch, "0755");
  if (!fs.rootReadonly) return places;
  places["/home/sandbox"] = place(tmpMiB(boot), "0700");
  places["/etc/agentkernel"] = place(16, "0755");
  if (!isKept) for (const { target } of views) places[target] ??= place(scratch, "0755");
  return places;
}

/** The engine makes the mount points of live folders in it; the first program unmounts it when it has shown them. */
function livePlace(live: readonly LiveView[]): Record<string, string> {
  return live.length === 0 ? {} : { [LIVE_PLACE]: "rw,noexec,nosuid,nodev,size=1m,mode=0700" };
}

function volumes(views: readonly CopiedView[]): Record<string, object> {
  return Object.fromEntries(["/workspace", ...views.map(({ target }) => target)].map((place) => [place, {}]));
}
