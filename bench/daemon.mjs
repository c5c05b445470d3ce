/** A daemon of the benchmark's own, with a folder for everything that it keeps. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export class BenchDaemon {
  constructor({ cli, entry, folder, stopwatchWithDaemon }) {
    const own = mkdtempSync(join(folder, "daemon-"));
    const runtime = join(own, "runtime");
    mkdirSync(runtime, { mode: 0o700 });
    this.variables = { XDG_RUNTIME_DIR: runtime, XDG_STATE_HOME: join(own, "state") };
    this.entry = entry;
    this.cli = cli;
    this.newStopwatch = () => stopwatchWithDaemon(runtime, this.variables);
    this.stopwatch = this.newStopwatch();
    /** A real project: the sources that were built. */
    this.project = join(dirname(dirname(cli)), "src");
    /** What users have in their PATH; a checkout's own script comes before it and is a shell's start more. */
    this.runTrue = [join(dirname(entry), "native", "ak-client"), "run", "--image", "host", "true"];
    this.runTrueInCheckout = [cli, "run", "--image", "host", "true"];
    this.status = this.#verb("start");
  }

  get pool() {
    return this.#verb("status").pool;
  }

  /** One run after the other, each in its turn. */
  run(words = this.runTrue) {
    return this.stopwatch.untilExit(words, { cwd: this.project });
  }

  /** Until the pool has what it wants. */
  async filled() {
    await this.run();
    while (this.pool.warm < this.pool.min);
  }

  /** Ids of all sandboxes that were started. */
  sandboxes() {
    const log = join(this.variables.XDG_STATE_HOME, "agentkernel", "audit");
    const files = readdirSync(log, { withFileTypes: true }).filter((entry) => entry.isFile());
    const lines = files.flatMap(({ name }) => readFileSync(join(log, name), "utf8").split("\n"));
    const starts = lines.filter((line) => line.includes('"sandbox.start"')).map((line) => JSON.parse(line));
    return starts.map(({ sandbox }) => sandbox);
  }

  stop() {
    this.#verb("stop");
    this.stopwatch.close();
  }

  #verb(verb) {
    const env = { ...process.env, ...this.variables };
    const text = execFileSync(process.execPath, [this.entry, "daemon", verb, "--json"], { env, encoding: "utf8" });
    return JSON.parse(text).data;
  }
}
