/**
 * A policy as the words of `container run`. Each is an option of the published command reference, but `--network none`,
 * which is checked by what `inspect` says (run-container.ts). What Apple's program cannot hold, the container's first
 * program does, or a layer says that nobody does. Pure.
 */
import type { BootSpec, Layer } from "../../core/backend.js";
import { CAPABILITIES, ENTRY, engineImage, PROGRAMS, tmpMiB } from "../engine/container-spec.js";
import type { Labels } from "../engine/labels.js";
import type { CopiedView } from "../entry/views.js";

/** What Apple's machines are, and so the guest's programs. */
export const ARCHITECTURE = "arm64";

interface ContainerParts {
  readonly boot: BootSpec;
  readonly views: readonly CopiedView[];
  readonly labels: Labels;
  /** A folder on the host that has `ak-entry` and `ak-guest` and nothing else. */
  readonly guestFolder: string;
}

export function containerName({ hostname }: BootSpec): string {
  return `agentkernel-${hostname}`;
}

export function containerWords({ boot, views, labels, guestFolder }: ContainerParts): readonly string[] {
  const { resources, net, fs } = boot.policy;
  const isCaptured = net.egress !== "off";
  const capabilities = [...CAPABILITIES, ...(isCaptured ? ["NET_ADMIN"] : [])];
  return [
    ...["run", "--interactive", "--rm", "--progress", "none"],
    ...["--name", containerName(boot), "--arch", ARCHITECTURE],
    ...Object.entries(labels).flatMap(([name, value]) => ["--label", `${name}=${value}`]),
    ...["--network", "none", ...(isCaptured ? ["--dns", "127.0.0.1"] : ["--no-dns"])],
    ...["--cpus", String(wholeCpus(boot)), "--memory", `${resources.memoryMiB}M`],
    ...["--ulimit", `nofile=${resources.openFiles}:${resources.openFiles}`],
    ...["--ulimit", `nproc=${resources.pids}:${resources.pids}`],
    ...["--shm-size", `${tmpMiB(boot)}M`],
    ...["--cap-drop", "ALL", ...capabilities.flatMap((name) => ["--cap-add", name])],
    ...(fs.rootReadonly ? ["--read-only"] : []),
    ...temporaryPlaces(boot, views).flatMap((place) => ["--tmpfs", place]),
    ...["--mount", `type=bind,source=${guestFolder},target=${PROGRAMS},readonly`],
    ...["--user", "0:0", "--workdir", "/", "--entrypoint", ENTRY],
    ...[engineImage(boot.image), "boot"],
  ];
}

/** What Apple's program holds, and what it does not, beside what the first program says of its own walls. */
export function appleLayers(boot: BootSpec): readonly Layer[] {
  const { policy } = boot;
  const cpus = wholeCpus(boot);
  const pids = "counted by user, and not for root: a flood of processes fills its own machine and nothing else";
  const disk = "/tmp, /dev/shm and /workspace are in the machine's memory; the rest of the root is limited by its disk";
  return [
    { name: "virtual machine", state: "applied" },
    { name: "memory limit", state: "applied" },
    cpus === policy.resources.vcpus
      ? { name: "cpu limit", state: "applied" }
      : { name: "cpu limit", state: "partial", detail: `only whole processors can be given: ${cpus}` },
    policy.proc.noRoot
      ? { name: "process limit", state: "applied" }
      : { name: "process limit", state: "partial", detail: pids },
    { name: "disk limit", state: "partial", detail: disk },
    ...(policy.fs.home === "none"
      ? []
      : [{ name: "home", state: "absent", detail: "your home cannot be shown without its secrets" } as const]),
  ];
}

function wholeCpus({ policy: { resources } }: BootSpec): number {
  return Math.max(1, Math.ceil(resources.vcpus));
}

/** In memory. Where the root cannot be written, whatever is put in place before the guest starts needs one. */
function temporaryPlaces({ policy: { fs } }: BootSpec, views: readonly CopiedView[]): readonly string[] {
  const places = ["/tmp", "/workspace"];
  if (fs.rootReadonly) places.push("/home/sandbox", "/etc/agentkernel", ...views.map(({ target }) => target));
  return [...new Set(places)];
}
