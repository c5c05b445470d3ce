/** Podman with its own storage and configuration, so that it shares nothing with the machine's. */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { watch } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { mountsBelow, processesAbout, untilAnswered } from "./docker.js";
import { killNow } from "./process-tree.js";

export class Podman {
  readonly env: Readonly<Record<string, string>>;
  readonly #folder: string;
  readonly #services: ChildProcess[] = [];

  /** `vfs` works everywhere; `overlay` does not copy an image for every container. */
  constructor(folder: string, driver: "vfs" | "overlay" = "vfs") {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    const conf = join(folder, "containers.conf");
    const storage = join(folder, "storage.conf");
    const ulimits = 'default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]';
    const engine = 'runtime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"';
    writeFileSync(conf, `[containers]\n${ulimits}\n[engine]\n${engine}\n`);
    const places = `graphroot = "${join(folder, "root")}"\nrunroot = "${join(folder, "run")}"`;
    const registries = join(folder, "registries.conf");
    // No registry is ever asked.
    writeFileSync(
      registries,
      'unqualified-search-registries = []\n[[registry]]\nprefix = "docker.io"\nlocation = "docker.io"\nblocked = true\n',
    );
    writeFileSync(storage, `[storage]\ndriver = "${driver}"\n${places}\n`);
    this.env = {
      PATH: process.env.PATH ?? "/usr/bin:/bin",
      HOME: folder,
      CONTAINERS_CONF: conf,
      CONTAINERS_STORAGE_CONF: storage,
      CONTAINERS_REGISTRIES_CONF: registries,
    };
  }

  async run(...words: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)("podman", words, {
      cwd: this.#folder,
      env: this.env,
      maxBuffer: 1e9,
    });
    return stdout.trim();
  }

  /** Its API on a socket; the path of the socket. */
  async serve(): Promise<string> {
    const path = join(this.#folder, "podman.sock");
    const made = watch(this.#folder);
    const child = spawn("podman", ["system", "service", "--time", "0", `unix://${path}`], {
      // What watches a container leaves notes where it was started.
      cwd: this.#folder,
      env: this.env,
      stdio: "ignore",
    });
    this.#services.push(child);
    if (!existsSync(path)) for await (const _change of made) if (existsSync(path)) break;
    // It is there a moment before anybody listens.
    await untilAnswered(path);
    return path;
  }

  /** kill -9 of its service; its containers have processes of their own. */
  async crash(): Promise<void> {
    for (const child of this.#services.splice(0)) {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
    rmSync(join(this.#folder, "podman.sock"), { force: true });
  }

  async stop(): Promise<void> {
    await this.crash();
    // The end of a container starts one more Podman, which mounts its store anew: until nobody is left who could.
    for (;;) {
      const left = processesAbout(`${this.#folder}/`);
      for (const pid of left) killNow(pid);
      for (const mount of mountsBelow(this.#folder)) execFileSync("umount", ["--lazy", mount]);
      if (left.length === 0 && mountsBelow(this.#folder).length === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
