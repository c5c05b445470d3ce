/** For tests: a process that listens on a Unix socket, takes no connection, and dies at a moment that is known. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";

const PROGRAM = `
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(1)
print("listening", flush=True)
time.sleep(60)`;

export class ListenerThatDies {
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  static async at(path: string): Promise<ListenerThatDies> {
    const process = spawn("python3", ["-c", PROGRAM, path], { stdio: ["ignore", "pipe", "inherit"] });
    await once(process.stdout, "data");
    return new ListenerThatDies(process);
  }

  /** Returns when it is dead, without a turn of the event loop: whoever was connecting has not heard of it yet. */
  die(): void {
    this.#process.kill("SIGKILL");
    const pause = new Int32Array(new SharedArrayBuffer(4));
    while (!/\) Z /.test(readFileSync(`/proc/${this.#process.pid}/stat`, "latin1"))) Atomics.wait(pause, 0, 0, 5);
  }
}
