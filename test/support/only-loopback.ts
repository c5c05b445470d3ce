/** A network namespace with nothing but loopback, that several programs of a test share. Needs root. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import type { Actor } from "./actors.js";

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Surroundings {
  readonly actor: Actor;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

export class OnlyLoopback {
  readonly #holder: ChildProcess;

  private constructor(holder: ChildProcess) {
    this.#holder = holder;
  }

  static async make(): Promise<OnlyLoopback> {
    // It lives as long as its input is open.
    const script = "ip link set lo up && echo ready && exec cat";
    const holder = spawn("unshare", ["--net", "sh", "-c", script], { stdio: ["pipe", "pipe", "inherit"] });
    await new Promise<void>((resolve, reject) => {
      holder.stdout?.once("data", () => resolve());
      holder.once("error", reject);
      holder.once("close", (status) => reject(new Error(`no network namespace: ${status}`)));
    });
    return new OnlyLoopback(holder);
  }

  /** These words, started in here and as the actor. */
  words(argv: readonly string[], { uid, gid }: Actor): readonly string[] {
    const become = uid === 0 ? [] : ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--"];
    return ["/usr/bin/nsenter", `--net=/proc/${this.#holder.pid}/ns/net`, "--", ...become.map(absolute), ...argv];
  }

  async run(argv: readonly string[], { actor, env, cwd }: Surroundings, timeoutMs = 120_000): Promise<Ended> {
    const [program = "", ...words] = this.words(argv, actor);
    return await new Promise((resolve) => {
      execFile(program, words, { cwd, env, timeout: timeoutMs, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
        const status = error === null ? 0 : typeof error.code === "number" ? error.code : null;
        resolve({ status, stdout, stderr });
      });
    });
  }

  async end(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.#holder.once("close", () => resolve()));
    this.#holder.stdin?.end();
    await ended;
  }
}

/** The environment that is passed on may have a search path with next to nothing in it. */
function absolute(word: string): string {
  return word === "setpriv" ? "/usr/bin/setpriv" : word;
}
