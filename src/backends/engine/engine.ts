/** One engine: how it is spoken to, what is brought into its containers, and what is said of their walls. */
import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BootSpec, Layer } from "../../core/backend.js";
import type { EngineKind } from "../../core/engine-socket.js";
import type { EngineClient } from "./client.js";
import type { ProgramPaths, SeccompChoice, SharedFiles } from "./container-spec.js";
import { seccompProfile } from "./seccomp-profile.js";
import { copiedLayer, ShowingViews } from "./shown-views.js";

interface EngineOptions {
  readonly kind: EngineKind;
  readonly client: EngineClient;
  readonly programs: ProgramPaths;
  /** A folder of the user's own for files that containers are shown. */
  readonly folder: string;
}

const HOSTS = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n";
const CAPTURED = "nameserver 127.0.0.1\n";

export class Engine {
  readonly kind: EngineKind;
  readonly client: EngineClient;
  readonly programs: ProgramPaths;
  /** The user's own. */
  readonly folder: string;
  readonly views: ShowingViews;
  #files: SharedFiles | null = null;

  constructor({ kind, client, programs, folder }: EngineOptions) {
    this.views = new ShowingViews(folder);
    this.kind = kind;
    this.client = client;
    this.programs = programs;
    this.folder = folder;
  }

  /**
   * Podman asks for more processes than there can be, also where it may not give as many. There can be no more than the
   * kernel has numbers for, and of those it may give what this process may have.
   */
  get maxProcesses(): number | null {
    if (this.kind === "docker" || process.platform !== "linux") return null;
    const hard = /^Max processes\s+\S+\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
    const numbers = Number(readFileSync("/proc/sys/kernel/pid_max", "latin1"));
    return hard === undefined ? null : Math.min(Number(hard), numbers);
  }

  sharedFiles(): SharedFiles {
    this.#files ??= writeFiles(join(this.folder, "shared"), this.kind);
    return this.#files;
  }

  /** What the engine holds, beside what the container's first program says of its own walls. */
  layersOf(boot: BootSpec): readonly Layer[] {
    const { policy } = boot;
    const copied = this.views.refusal(boot);
    const disk = `what is written outside /tmp, /dev/shm and /workspace is limited only by ${this.kind}'s own disk`;
    const isLimited = policy.fs.rootReadonly;
    return [
      { name: "namespaces", state: "applied" },
      { name: "cgroup", state: "applied" },
      { name: "freezer", state: "applied" },
      isLimited ? { name: "disk limit", state: "applied" } : { name: "disk limit", state: "partial", detail: disk },
      ...(copied === null ? [] : [copiedLayer(copied)]),
    ];
  }
}

/** What is there as it should be stays; the rest by rename, since another process may be reading it. */
function writeFiles(folder: string, kind: EngineKind): SharedFiles {
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    if (textOf(path) === text) return path;
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    const fresh = `${path}.${randomBytes(6).toString("hex")}`;
    writeFileSync(fresh, text, { mode: 0o644 });
    renameSync(fresh, path);
    return path;
  };
  // Docker is given the list itself, Podman the name of a file that has it.
  const seccomp = (choice: SeccompChoice) =>
    kind === "docker" ? seccompProfile(choice) : write(`seccomp-${choice}.json`, seccompProfile(choice));
  return {
    hosts: write("hosts", HOSTS),
    captured: write("resolv.captured", CAPTURED),
    offline: write("resolv.offline", ""),
    mountPoints: writeMountPoints(join(folder, "programs")),
    seccomp: {
      default: seccomp("default"),
      strict: seccomp("strict"),
      "default-arranged": seccomp("default-arranged"),
      "strict-arranged": seccomp("strict-arranged"),
    },
  };
}

/** What an engine mounts over must be there: it can make nothing in a read-only directory. */
function writeMountPoints(folder: string): string {
  mkdirSync(join(folder, "live"), { recursive: true, mode: 0o755 });
  for (const name of ["ak-entry", "ak-guest"]) closeSync(openSync(join(folder, name), "a", 0o644));
  return folder;
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
