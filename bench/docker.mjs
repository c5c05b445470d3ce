/** What users would take otherwise: Docker's own engine, of the benchmark's own, with an image of one static program. */
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

const IMAGE = "bench";
const UP_WITHIN_MS = 60_000;

export class BenchDocker {
  #engine;
  #gone;

  /** Needs dockerd, docker and a static busybox on the machine, and to be root. */
  constructor(parent) {
    const folder = mkdtempSync(join(parent, "docker-"));
    this.address = `unix://${join(folder, "docker.sock")}`;
    this.folder = folder;
    const words = ["--data-root", join(folder, "data"), "--exec-root", join(folder, "exec"), "-H", this.address];
    const alone = ["--pidfile", join(folder, "pid"), "--iptables=false", "--bridge=none"];
    this.#engine = spawn("dockerd", [...words, ...alone], { stdio: "ignore" });
    this.#gone = new Promise((resolve) => this.#engine.once("close", resolve));
  }

  words(...words) {
    return ["docker", "-H", this.address, ...words];
  }

  /** A fresh container that runs `true` and is gone afterwards. */
  get runTrue() {
    return this.words("run", "--rm", "--network", "none", IMAGE, "true");
  }

  async up() {
    for (const until = performance.now() + UP_WITHIN_MS; !this.#answers(); await setTimeout(100)) {
      if (performance.now() > until) throw new Error("the Docker engine does not come up");
    }
    const root = join(this.folder, "root");
    mkdirSync(join(root, "bin"), { recursive: true });
    copyFileSync("/bin/busybox", join(root, "bin", "busybox"));
    for (const name of ["true", "sleep", "head"]) symlinkSync("busybox", join(root, "bin", name));
    const archive = join(this.folder, "root.tar");
    execFileSync("tar", ["-C", root, "-cf", archive, "."]);
    this.ask("import", archive, IMAGE);
  }

  /** A container that stays, to run commands in. */
  keep(name) {
    this.ask("run", "-d", "--network", "none", "--name", name, IMAGE, "sleep", "100000");
  }

  ask(...words) {
    const [program, ...rest] = this.words(...words);
    return execFileSync(program, rest, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  }

  async close() {
    if (this.#answers()) {
      for (const id of this.ask("ps", "-aq").split("\n").filter(Boolean)) this.#remove(id);
    }
    this.#engine.kill("SIGTERM");
    await this.#gone;
  }

  /** The engine may be about to remove it. */
  #remove(id) {
    try {
      this.ask("rm", "-f", id);
    } catch (error) {
      const isThere = () => this.ask("ps", "-aq").includes(id);
      for (const until = performance.now() + UP_WITHIN_MS; isThere(); ) if (performance.now() > until) throw error;
    }
  }

  #answers() {
    try {
      const [program, ...rest] = this.words("version");
      execFileSync(program, rest, { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  }
}

export async function withDocker({ folder }, work) {
  const docker = new BenchDocker(folder);
  try {
    await docker.up();
    return await work(docker);
  } finally {
    await docker.close();
  }
}
