/** Podman with storage of the benchmark's own and an image of one static program. It has no engine that must be up. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const IMAGE = "bench";

export class BenchPodman {
  #storage;
  #folder;

  /** Needs podman, runc and a static busybox on the machine, and to be root. */
  constructor(parent) {
    this.#folder = mkdtempSync(join(parent, "podman-"));
    const place = (name) => join(this.#folder, name);
    this.#storage = ["--root", place("data"), "--runroot", place("run"), "--storage-driver", "overlay"];
    // Limits that any machine grants, also one that is a container itself.
    const limits = 'default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]';
    const engine = 'runtime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "none"';
    writeFileSync(place("containers.conf"), `[containers]\n${limits}\n[engine]\n${engine}\n`);
    mkdirSync(place("root/bin"), { recursive: true });
    copyFileSync("/bin/busybox", place("root/bin/busybox"));
    symlinkSync("busybox", place("root/bin/sleep"));
    execFileSync("tar", ["-C", place("root"), "-cf", place("root.tar"), "."]);
    this.#ask("import", "-q", place("root.tar"), IMAGE);
  }

  words(...words) {
    return ["env", `CONTAINERS_CONF=${join(this.#folder, "containers.conf")}`, "podman", ...this.#storage, ...words];
  }

  /** A container that stays, to run commands in. */
  keep(name) {
    this.#ask("run", "-d", "--network", "none", "--name", name, IMAGE, "sleep", "100000");
  }

  close() {
    this.#ask("rm", "-f", "-a", "-t", "0");
    // It binds its storage onto itself, sometimes twice, and leaves that there: nobody could remove the folder. What it
    // still tidies up there holds nobody up.
    const storage = join(this.#folder, "data", "overlay");
    while (readFileSync("/proc/self/mounts", "utf8").includes(` ${storage} `))
      execFileSync("umount", ["--lazy", storage]);
  }

  #ask(...words) {
    const [program, ...rest] = this.words(...words);
    execFileSync(program, rest, { stdio: ["ignore", "ignore", "pipe"] });
  }
}
