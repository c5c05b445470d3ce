/** A Docker engine of the tests' own: a private socket and private folders, no bridge, no rule of the host's firewall. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { killNow } from "./process-tree.js";

/** Whatever a test names, no registry of the world outside is asked: what leads there ends at a closed port. */
const noRegistry = {
  HTTP_PROXY: "http://127.0.0.1:1",
  HTTPS_PROXY: "http://127.0.0.1:1",
  NO_PROXY: "127.0.0.1,localhost",
};

export class DockerEngine {
  readonly socketPath: string;
  readonly #folder: string;
  #process: ChildProcess | null = null;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    this.socketPath = join(folder, "docker.sock");
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  async start(): Promise<void> {
    const at = (name: string) => join(this.#folder, name);
    const log = openSync(at("log"), "a");
    const places = ["--data-root", at("data"), "--exec-root", at("exec"), "--pidfile", at("pid")];
    const child = spawn(
      "/usr/sbin/dockerd",
      ["--host", `unix://${this.socketPath}`, ...places, "--iptables=false", "--ip6tables=false", "--bridge=none"],
      { stdio: ["ignore", log, log], env: { ...process.env, ...noRegistry } },
    );
    closeSync(log);
    this.#process = child;
    const ended = once(child, "exit").then(() => {
      throw new Error(`dockerd ended: ${readFileSync(at("log"), "utf8").slice(-2000)}`);
    });
    ended.catch(() => {});
    await Promise.race([untilAnswered(this.socketPath), ended]);
  }

  /** kill -9 of the engine, both its processes; those of its containers stay. */
  async crash(): Promise<void> {
    await this.#end("SIGKILL");
    const note = join(this.#folder, "exec", "containerd", "containerd.pid");
    const pid = Number(readFileSync(note, "utf8"));
    while (existsSync(`/proc/${pid}/exe`)) {
      killNow(pid);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    rmSync(note);
  }

  async stop(): Promise<void> {
    await this.#end("SIGTERM");
    // After a crash the one that comes back does not know of these.
    for (const pid of processesAbout(`${this.#folder}/exec/`)) killNow(pid);
    for (const mount of mountsBelow(this.#folder)) execFileSync("umount", ["--lazy", mount]);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }
}

/** Nothing tells when an engine listens, so it is asked until it answers. */
export async function untilAnswered(socketPath: string): Promise<void> {
  while ((await fetchStatus(socketPath)) !== 200) await new Promise((resolve) => setTimeout(resolve, 50));
}

export function mountsBelow(folder: string): readonly string[] {
  const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const places = lines.flatMap((line) => line.split(" ")[4] ?? []);
  return places.filter((place) => place.startsWith(`${folder}/`)).reverse();
}

/** Whose words name the path. One that has ended and waits for its parent has none. */
export function processesAbout(path: string): readonly number[] {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return all.map(Number).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(path);
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
}

async function fetchStatus(socketPath: string): Promise<number> {
  const { request } = await import("node:http");
  return await new Promise((resolve) => {
    const asked = request({ socketPath, path: "/_ping" }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.once("error", () => resolve(0));
    asked.end();
  });
}
