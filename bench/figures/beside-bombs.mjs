import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isBudgetSpent } from "../budget.mjs";
import { BenchDaemon } from "../daemon.mjs";
import { compare } from "../measure.mjs";

/** The bombs that the tests of P1 throw, over and over; what each takes is more than it may have. */
const source = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "test", "security", "process", "bombs.c");
const LIMITS = ["--memory", "64m", "--pids", "32", "--open-files", "100", "--vcpus", "1"];
const bombs = {
  fork: "fork 200",
  thread: "thread 200",
  descriptors: "fd 400",
  memory: "anon 256",
  tmpfs: "file 256 /tmp/bomb",
  shm: "file 256 /dev/shm/bomb",
  memfd: "memfd 256",
  "page cache": "file 256 /workspace/bomb",
  processor: "spin 1000",
};
const names = { subject: "beside it", reference: "alone" };

export const besideBombs = {
  name: "beside-bombs",
  promise: "`run true` while another sandbox of one core runs a bomb (THREATS P1) over and over, against without",
  limit: null,
  async run(context, quick) {
    const project = join(context.folder, "bombs");
    mkdirSync(project);
    execFileSync("cc", ["-O2", "-static", "-pthread", "-o", join(project, "bombs"), source]);
    const daemon = new BenchDaemon(context);
    const runs = quick ? 5 : 40;
    const series = [];
    try {
      await daemon.filled();
      await taken(daemon, runs);
      for (const [at, words] of Object.entries(bombs)) {
        // The pause between two bombs is the reference: the same machine, a moment earlier.
        const alone = await taken(daemon, runs);
        const beside = await whileThrowing(daemon, project, words, () => taken(daemon, runs));
        series.push({ at, names, ...compare(beside, alone) });
      }
    } finally {
      daemon.stop();
    }
    const { ratio, interval, subject, reference } = series.reduce((a, b) => (a.ratio > b.ratio ? a : b));
    return { ratio, interval, subject, reference, series };
  },
};

async function taken(daemon, runs) {
  const samples = [];
  while (samples.length < runs && !(samples.length >= 5 && isBudgetSpent())) samples.push(await daemon.run());
  return samples;
}

async function whileThrowing(daemon, project, words, work) {
  const script = `echo thrown; while :; do ./bombs ${words}; done </dev/null >/dev/null 2>&1`;
  const [program] = daemon.runTrue;
  const run = ["run", "--no-network", "--image", "host", ...LIMITS, "--", "sh", "-c", script];
  const env = { ...process.env, ...daemon.variables };
  const bomb = spawn(program, run, { cwd: project, env, stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(bomb, "exit");
  try {
    await once(bomb.stdout, "data");
    const samples = await work();
    if (bomb.exitCode !== null) throw new Error(`the bomb "${words}" ended by itself`);
    return samples;
  } finally {
    bomb.kill("SIGTERM");
    await ended;
  }
}
