import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { endIdle, IDLE_MS, startIdle } from "../idle-jail.mjs";
import { pssMiB } from "../proportional-memory.mjs";

const SANDBOXES = 10;

export const idleMemory = {
  name: "idle-memory",
  promise: `proportional memory of an idle sandbox's own processes, with ${SANDBOXES} of them alive`,
  limit: { mib: 1.5 },
  async run({ jail, jailSpecFile, emptyProject }) {
    const spec = readFileSync(jailSpecFile(emptyProject));
    const alone = [await startIdle(jail, spec)];
    await setTimeout(IDLE_MS);
    const aloneMiB = average(alone);
    const all = [...alone, ...(await Promise.all(Array.from({ length: SANDBOXES - 1 }, () => startIdle(jail, spec))))];
    await setTimeout(IDLE_MS);
    const parts = { jail: all.map((pid) => pssMiB(pid.pid)), guest: all.map((pid) => pssMiB(guestOf(pid.pid))) };
    const mib = average(all);
    await endIdle(all);
    return { mib, information: { aloneMiB, jailMiB: mean(parts.jail), guestMiB: mean(parts.guest) } };
  },
};

function average(sandboxes) {
  return mean(sandboxes.map(({ pid }) => pssMiB(pid) + pssMiB(guestOf(pid))));
}

function guestOf(pid) {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0]);
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
