/** One engine: how it is spoken to, what is brought into its containers, and what is said of their walls. */
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BootSpec, Layer } from "../../core/backend.js";
import type { EngineKind } from "../../core/engine-socket.js";
import type { EngineClient } from "./client.js";
import type { ProgramPaths, SharedEtc } from "./container-spec.js";

export interface EngineOptions {
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
  readonly #folder: string;
  #etc: Promise<SharedEtc> | null = null;

  constructor({ kind, client, programs, folder }: EngineOptions) {
    this.kind = kind;
    this.client = client;
    this.programs = programs;
    this.#folder = folder;
  }

  /** Files of /etc for roots that cannot be written. */
  sharedEtc(): Promise<SharedEtc> {
    this.#etc ??= writeEtc(join(this.#folder, "etc"));
    return this.#etc;
  }

  /** What the engine holds, beside what the container's first program says of its own walls. */
  layersOf({ policy }: BootSpec): readonly Layer[] {
    const disk = `what is written outside /tmp, /dev/shm and /workspace is limited only by ${this.kind}'s own disk`;
    const isLimited = policy.fs.rootReadonly;
    const home: Layer[] =
      policy.fs.home === "none"
        ? []
        : [{ name: "home", state: "absent", detail: "an engine cannot show your home without its secrets" }];
    return [
      { name: "namespaces", state: "applied" },
      { name: "cgroup", state: "applied" },
      { name: "freezer", state: "applied" },
      isLimited ? { name: "disk limit", state: "applied" } : { name: "disk limit", state: "partial", detail: disk },
      ...home,
    ];
  }
}

/** By rename: another process may be reading them. */
async function writeEtc(folder: string): Promise<SharedEtc> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const write = async (name: string, text: string) => {
    const path = join(folder, name);
    const fresh = `${path}.${process.pid}`;
    await writeFile(fresh, text, { mode: 0o644 });
    await rename(fresh, path);
    return path;
  };
  const [hosts, captured, offline] = await Promise.all([
    write("hosts", HOSTS),
    write("resolv.captured", CAPTURED),
    write("resolv.offline", ""),
  ]);
  return { hosts, captured, offline };
}
