// Runs test files side by side, each of several vitests in a world of its own (test-world.sh); test-plan.mjs says which
// file is next. However this process ends, test-keeper.sh takes the worlds away.
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { MACHINE, progressLine, Queue } from "./test-plan.mjs";
import { laneClock } from "./test-times.mjs";

export class Worlds {
  #root;
  #environment;
  #folder = mkdtempSync(join(tmpdir(), "agentkernel-worlds-"));
  #keeper;
  #kept;

  constructor(root, environment) {
    this.#root = root;
    this.#environment = environment;
    chmodSync(this.#folder, 0o755);
    // Its input ends when this process does. A group of its own, for the end of ours is when it begins to work.
    this.#keeper = spawn("sh", [join("scripts", "test-keeper.sh"), `${this.#name}-*`, this.#folder], {
      cwd: root,
      stdio: ["pipe", "inherit", "inherit"],
      detached: true,
    });
    this.#kept = new Promise((resolve, reject) => this.#keeper.on("error", reject).on("close", resolve));
  }

  /** Why this machine has no worlds, or null. */
  async missing() {
    const { child, output } = this.#start(99, ["true"]);
    child.stdin.end();
    const status = await new Promise((resolve) => child.on("close", resolve));
    return status === 0 ? null : output().trim() || `scripts/test-world.sh ended with ${status}`;
  }

  /**
   * Runs all of the files. `done` is told {project, file, report, unhandled, processorMs, output} as each ends;
   * `progress` a line.
   * @param files each {project, file}
   */
  async run({ files, weights, count, pattern, limitMs, done, progress }) {
    const queue = new Queue(files, weights);
    const all = { total: queue.length, startedMs: Date.now(), weightMs: queue.weightMs, done: 0, failed: 0 };
    const running = new Map();
    const tell = () => {
      const now = [...running.values()].map(({ file }) => basename(file, ".test.ts"));
      const inWork = [...running.values()].reduce((total, { weightMs }) => total + weightMs / 2, 0);
      const leftWeightMs = queue.weightMs + inWork;
      const doneWeightMs = all.weightMs - leftWeightMs;
      progress(
        progressLine({ ...all, doneWeightMs, leftWeightMs, elapsedMs: Date.now() - all.startedMs, running: now }),
      );
    };
    const ticking = setInterval(tell, 1000);
    const projects = [...new Set(files.map(({ project }) => project))];
    const inWorld = async (number) => {
      let world;
      for (let job = queue.take(number); job !== undefined; job = queue.take(number)) {
        const timeLeftMs = all.startedMs + limitMs - Date.now();
        if (timeLeftMs < 0) {
          done({ ...job, ...notRun("no time was left for it"), processorMs: null, output: "" });
          continue;
        }
        running.set(number, job);
        world ??= this.#world(number, projects);
        const result = await within(world.run({ ...job, file: join(this.#root, job.file), pattern }), timeLeftMs);
        running.delete(number);
        all.done += 1;
        const failed = result.unhandled.length > 0 || result.report.testResults.some((one) => one.status === "failed");
        if (failed) all.failed += 1;
        done({ ...job, ...result, processorMs: world.processorMs(), output: world.output() });
        // What follows gets a fresh one: a file that failed may have left a daemon.
        if (failed) {
          if (!result.isOver) await world.end();
          world = undefined;
        }
      }
      await world?.end();
    };
    try {
      await Promise.all(Array.from({ length: Math.min(count, queue.length) }, (_, number) => inWorld(number)));
    } finally {
      clearInterval(ticking);
    }

    /** A file that hangs must not take the others' results with it. */
    function within(work, timeLeftMs) {
      const { promise, resolve } = withResolvers();
      const timer = setTimeout(
        () => resolve(notRun("it was not done when the time of the whole run was over")),
        Math.max(0, timeLeftMs),
      );
      work.then((result) => {
        clearTimeout(timer);
        resolve(result);
      });
      return promise;
    }
  }

  /** Ends what still runs, and waits until nothing is left. Fails where something is. */
  async close() {
    this.#keeper.stdin.end();
    const status = await this.#kept;
    if (status !== 0) throw new Error("something of the worlds is left: see above");
  }

  get #name() {
    return basename(this.#folder);
  }

  #start(number, command) {
    const folder = join(this.#folder, `${number}-${Date.now()}`);
    mkdirSync(folder, { mode: 0o755 });
    const network = number === MACHINE ? "machine" : "own";
    const words = [join("scripts", "test-world.sh"), `${this.#name}-${number}`, folder, network, ...command];
    const child = spawn("sh", words, {
      cwd: this.#root,
      stdio: ["pipe", "pipe", "pipe", "pipe"],
      // A group of its own: what a terminal's keys send is for this process, and the keeper ends the rest.
      detached: true,
      env: { ...process.env, ...this.#environment },
    });
    let text = "";
    const take = (chunk) => {
      text += chunk;
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    const output = () => {
      const all = text;
      text = "";
      return all;
    };
    return { child, output };
  }

  #world(number, projects) {
    const { child, output } = this.#start(number, [process.execPath, join("scripts", "test-worker.mjs"), ...projects]);
    const processorMs = laneClock(`test-lane-${this.#name}-${number}-${child.pid}`);
    let answered = () => {};
    const over = new Promise((resolve) => {
      child.on("error", (error) => resolve(error.message));
      child.on("close", (status, signal) => resolve(`its world ended with ${signal ?? status}`));
    });
    createInterface({ input: child.stdio[3] }).on("line", (line) => answered(JSON.parse(line)));
    // The reason is told by `over`.
    child.stdin.on("error", () => {});
    return {
      output,
      processorMs,
      run(job) {
        const { promise, resolve } = withResolvers();
        answered = (result) => resolve({ ...result, isOver: false });
        over.then((reason) => resolve(notRun(reason)));
        child.stdin.write(`${JSON.stringify(job)}\n`);
        return promise;
      },
      async end() {
        child.stdin.end();
        await over;
      },
    };
  }
}

function notRun(reason) {
  return { report: { testResults: [] }, unhandled: [reason], isOver: true };
}

/** Promise.withResolvers of Node 22. */
function withResolvers() {
  let resolve;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
