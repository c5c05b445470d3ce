import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { endIdle, IDLE_MS, startIdle } from "../idle-jail.mjs";

const SANDBOXES = 200;

export const density = {
  name: "density",
  promise: `memory of an idle sandbox, its own processes' proportional share, with ${SANDBOXES} of them alive`,
  limit: null,
  async run({ jail, jailSpecFile, emptyProject }, quick) {
    const spec = readFileSync(jailSpecFile(emptyProject));
    const count = quick ? SANDBOXES / 10 : SANDBOXES;
    const alive = [];
    try {
      const before = kernelMiB();
      while (alive.length < count) alive.push(await startIdle(jail, spec));
      await setTimeout(IDLE_MS);
      const kernelEachMiB = (kernelMiB() - before) / count;
      const mib = alive.reduce((sum, { pid }) => sum + ownMiB(pid), 0) / count;
      return {
        mib,
        information: { sandboxes: count, kernelEachMiB, inOneGiB: 1024 / (mib + Math.max(kernelEachMiB, 0)) },
      };
    } finally {
      await endIdle(alive);
    }
  },
};

/** The supervisor and what is below it. */
function ownMiB(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
  const own = Number(/^Pss: +(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))[1]) / 1024;
  return children.reduce((sum, child) => sum + ownMiB(child), own);
}

/** What the kernel keeps for processes, mounts and namespaces; of the whole machine, so only for information. */
function kernelMiB() {
  const text = readFileSync("/proc/meminfo", "utf8");
  const kib = (name) => Number(new RegExp(`^${name}: +(\\d+) kB$`, "m").exec(text)[1]);
  return (kib("SUnreclaim") + kib("KernelStack") + kib("PageTables")) / 1024;
}
