import { bwrapTrue } from "../bwrap.mjs";
import { BenchDaemon } from "../daemon.mjs";
import { compare } from "../measure.mjs";

const RUNS = 100;
const AT_ONCE = 8;

export const burst = {
  name: "burst",
  promise: `${RUNS} fresh sandboxes created, used and destroyed, ${AT_ONCE} at once, against ${RUNS} bwrap one after another`,
  limit: { ratio: 1.5 },
  async run(context, quick) {
    const daemon = new BenchDaemon(context);
    const lanes = Array.from({ length: AT_ONCE }, () => daemon.newStopwatch());
    try {
      await daemon.filled();
      const [ours, theirs] = [[], []];
      for (let round = -1; round < (quick ? 2 : 6); round++) {
        const taken = [await timed(() => together(daemon, lanes)), await timed(() => inTurn(daemon))];
        if (round < 0) continue;
        ours.push(taken[0]);
        theirs.push(taken[1]);
      }
      const { taken, missed } = daemon.pool;
      return { ...compare(ours, theirs), information: { taken, missed } };
    } finally {
      for (const lane of lanes) lane.close();
      daemon.stop();
    }
  },
};

async function together(daemon, lanes) {
  let left = RUNS;
  const work = async (lane) => {
    while (left-- > 0) await lane.untilExit(daemon.runTrue, { cwd: daemon.project });
  };
  await Promise.all(lanes.map(work));
}

async function inTurn(daemon) {
  for (let run = 0; run < RUNS; run++) await daemon.run(bwrapTrue);
}

async function timed(work) {
  const startedAt = performance.now();
  await work();
  return { wallMs: performance.now() - startedAt, cpuMs: 1 };
}
