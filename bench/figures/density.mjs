import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

const SANDBOXES = 200;
/** A sandbox that has had nothing to do for this long has given back what it does not need. */
const IDLE_MS = 500;

export const density = {
  name: "density",
  promise: `what an idle sandbox takes of the machine's memory, kernel included, with ${SANDBOXES} of them alive`,
  limit: null,
  async run({ jail, jailSpecFile, emptyProject }, quick) {
    const spec = readFileSync(jailSpecFile(emptyProject));
    const count = quick ? SANDBOXES / 10 : SANDBOXES;
    const alive = [];
    try {
      // The first one brings what all share.
      alive.push(await start(jail, spec));
      await setTimeout(IDLE_MS);
      const before = availableMiB();
      while (alive.length <= count) alive.push(await start(jail, spec));
      await setTimeout(IDLE_MS);
      const mib = (before - availableMiB()) / count;
      return { mib, information: { sandboxes: count, inOneGiB: 1024 / mib } };
    } finally {
      for (const child of alive) {
        child.stdio[3].write('{"do":"kill"}\n');
        await once(child, "exit");
      }
    }
  },
};

async function start([binary, ...words], spec) {
  const child = spawn(binary, words, { stdio: ["ignore", "ignore", "inherit", "pipe", "pipe"] });
  child.stdio[3].resume();
  child.stdio[3].write(spec);
  await once(child.stdio[4], "data");
  return child;
}

function availableMiB() {
  return Number(/^MemAvailable: +(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"))[1]) / 1024;
}
