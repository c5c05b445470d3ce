import { readdirSync, readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { BenchDaemon } from "../daemon.mjs";
import { pssMiB } from "../proportional-memory.mjs";

const RUNS = 200;
/** Long enough to have given back what is not needed. */
const IDLE_MS = 500;
const WATCHED_MS = 10_000;

export const warmMemory = {
  name: "warm-memory",
  promise: "proportional memory of a warm sandbox's own processes that nobody has taken yet",
  limit: { mib: 1.5 },
  async run(context) {
    const daemon = new BenchDaemon(context);
    try {
      await daemon.filled();
      await setTimeout(IDLE_MS);
      const supervisors = below(daemon.status.pid).filter((pid) => nameOf(pid) === "ak-warm" && isTop(pid));
      const sizes = supervisors.map((pid) => [pid, ...below(pid)].reduce((sum, one) => sum + pssMiB(one), 0));
      return { mib: sizes.reduce((sum, one) => sum + one, 0) / sizes.length, information: { warm: sizes.length } };
    } finally {
      daemon.stop();
    }
  },
};

export const daemonIdle = {
  name: "daemon-idle",
  promise: `resident memory of an idle daemon that has served ${RUNS} runs`,
  limit: { mib: 80 },
  async run(context, quick) {
    const daemon = new BenchDaemon(context);
    try {
      for (let run = 0; run < RUNS; run++) await daemon.run();
      await daemon.filled();
      await setTimeout(IDLE_MS);
      const before = wakeUps(daemon.status.pid);
      await setTimeout(quick ? WATCHED_MS / 5 : WATCHED_MS);
      const after = wakeUps(daemon.status.pid);
      return { mib: residentMiB(daemon.status.pid), information: { wakeUps: after - before } };
    } finally {
      daemon.stop();
    }
  },
};

function isTop(pid) {
  return nameOf(parentOf(pid)) === "ak-launcher";
}

function below(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...below(child)]);
}

function nameOf(pid) {
  return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
}

function parentOf(pid) {
  return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);
}

function residentMiB(pid) {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
}

/** Of all threads: how often one has run again after a wait. */
function wakeUps(pid) {
  const statuses = readdirSync(`/proc/${pid}/task`).map((task) =>
    readFileSync(`/proc/${pid}/task/${task}/status`, "utf8"),
  );
  return statuses.reduce((sum, text) => sum + Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(text)[1]), 0);
}
