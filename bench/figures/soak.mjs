import { bwrapTrue } from "../bwrap.mjs";
import { BenchDaemon } from "../daemon.mjs";
import { quantile } from "../measure.mjs";

const RUNS = 20_000;
/** Of bwrap after each quarter: whether the machine itself became slower. */
const BESIDE = 60;

export const soak = {
  name: "soak",
  promise: `${RUNS} runs one after another: median of the last quarter, against the first quarter's`,
  limit: { ratio: 1.1 },
  async run(context, quick) {
    const daemon = new BenchDaemon(context);
    const runs = quick ? RUNS / 50 : RUNS;
    try {
      await daemon.filled();
      for (let run = 0; run < 40; run++) await daemon.run();
      const [ours, theirs] = [[], []];
      for (let quarter = 0; quarter < 4; quarter++) {
        ours.push(await median(daemon, runs / 4));
        theirs.push(await median(daemon, BESIDE, bwrapTrue));
      }
      const information = { quartersMs: ours, bwrapMs: theirs, ...daemon.pool };
      return { ratio: ours[3] / ours[0], information };
    } finally {
      daemon.stop();
    }
  },
};

async function median(daemon, count, words) {
  const walls = [];
  while (walls.length < count) walls.push((await daemon.run(words)).wallMs);
  return quantile(walls, 0.5);
}
