import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

const SANDBOXES = 10;

export const idleMemory = {
  name: "idle-memory",
  promise: `proportional memory of an idle sandbox's own processes, with ${SANDBOXES} of them alive`,
  limit: { mib: 1.5 },
  async run({ jail, jailSpecFile, emptyProject }) {
    const spec = readFileSync(jailSpecFile(emptyProject));
    const alone = [await start(jail, spec)];
    await setTimeout(IDLE_MS);
    const aloneMiB = average(alone);
    const all = [...alone, ...(await Promise.all(Array.from({ length: SANDBOXES - 1 }, () => start(jail, spec))))];
    await setTimeout(IDLE_MS);
    const parts = { jail: all.map((pid) => pssMiB(pid.pid)), guest: all.map((pid) => pssMiB(guestOf(pid.pid))) };
    const mib = average(all);
    for (const child of all) {
      child.stdio[3].write('{"do":"kill"}\n');
      await once(child, "exit");
    }
    return { mib, information: { aloneMiB, jailMiB: mean(parts.jail), guestMiB: mean(parts.guest) } };
  },
};

/** A sandbox that has had nothing to do for this long has given back what it does not need. */
const IDLE_MS = 500;

/** A sandbox whose guest has said that it is ready, and that nobody asks anything of. */
async function start([binary, ...words], spec) {
  const child = spawn(binary, words, { stdio: ["ignore", "ignore", "inherit", "pipe", "pipe"] });
  child.stdio[3].resume();
  child.stdio[3].write(spec);
  await once(child.stdio[4], "data");
  return child;
}

function average(sandboxes) {
  return mean(sandboxes.map(({ pid }) => pssMiB(pid) + pssMiB(guestOf(pid))));
}

function guestOf(pid) {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0]);
}

function pssMiB(pid) {
  const found = /^Pss: +(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));
  if (!found) throw new Error(`process ${pid} has no proportional memory`);
  return Number(found[1]) / 1024;
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
