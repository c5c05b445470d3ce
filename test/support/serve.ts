/** `agentkernel serve` of an actor's, on a port of the machine's choice. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { type Actor, environmentOf } from "./actors.js";

export class TestServer {
  readonly ready: Promise<void>;
  readonly exited: Promise<number | null>;
  readonly #child: ChildProcess;
  #url = "";
  #stderr = "";

  constructor(actor: Actor, words: readonly string[] = []) {
    const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
    const program = [join(actor.dist, "agentkernel.js"), "serve", "--port", "0", ...words];
    this.#child = spawn(process.execPath, program, {
      ...identity,
      cwd: actor.home,
      env: { PATH: process.env.PATH ?? "/usr/bin:/bin", ...environmentOf(actor) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr += String(chunk);
    });
    this.exited = new Promise((resolve) => this.#child.once("close", (status) => resolve(status)));
    this.ready = new Promise((resolve, reject) => {
      this.#child.stdout?.once("data", (chunk: Buffer) => {
        this.#url = /https?:\/\/\S+/.exec(String(chunk))?.[0] ?? "";
        resolve();
      });
      void this.exited.then((status) => reject(new Error(`serve ended with ${status}: ${this.#stderr}`)));
    });
    this.ready.catch(() => {});
  }

  get url(): string {
    return this.#url;
  }

  async stop(): Promise<number | null> {
    this.#child.kill("SIGTERM");
    return await this.exited;
  }
}
