/** Talks to bench/native/stopwatch.c, which does the timing. */
import { execFileSync, spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const source = join(dirname(fileURLToPath(import.meta.url)), "native", "stopwatch.c");

export function compileStopwatch(folder) {
  const binary = join(folder, "stopwatch");
  execFileSync("cc", ["-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", binary, source]);
  return binary;
}

/** One at a time: requests are served in order, and nothing else of ours runs meanwhile. */
export class Stopwatch {
  #process;
  #answers;

  /** What it starts has these variables beside our own. */
  constructor(binary, env) {
    // Where this is set every start of Node but ours takes three times as long: nobody is to win or lose by that.
    const { NODE_EXTRA_CA_CERTS: _, ...own } = process.env;
    this.#process = spawn(binary, [], { stdio: ["pipe", "pipe", "inherit"], env: { ...own, ...env } });
    this.#answers = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  /** From starting `argv` to its end. With a `count`, that many at once until the last has ended. */
  untilExit(argv, { cwd = "/", count = 1 } = {}) {
    return this.#ask(["exit", count, cwd, ...argv]);
  }

  /** From starting the jail to its guest's first byte, which is the ready frame's. */
  untilReady(argv, spec, { count = 1 } = {}) {
    return this.#ask(["ready", count, spec, ...argv]);
  }

  /** From starting `argv` to the first byte that it prints. */
  untilByte(argv, { cwd = "/" } = {}) {
    return this.#ask(["byte", 1, cwd, ...argv]);
  }

  close() {
    this.#process.stdin.end();
  }

  async #ask(fields) {
    this.#process.stdin.write(`${fields.join("\t")}\n`);
    const { value, done } = await this.#answers.next();
    if (done) throw new Error(`the stopwatch ended at: ${fields.join(" ")}`);
    const [wallNs, cpuUs, maxRssKiB, failed] = value.split(" ").map(Number);
    if (failed > 0) throw new Error(`${failed} failed of: ${fields.join(" ")}`);
    return { wallMs: wallNs / 1e6, cpuMs: cpuUs / 1e3, maxRssKiB };
  }
}
