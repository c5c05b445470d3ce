import { bwrapTrue } from "../bwrap.mjs";
import { BenchDaemon } from "../daemon.mjs";
import { compare, interleaved } from "../measure.mjs";

const COUNTS = [1, 10, 50, 100, 200];
const names = { subject: "agentkernel", reference: "bwrap" };

export const parallel = {
  name: "parallel",
  promise: `${COUNTS.join(", ")} \`run true\` at once through the daemon until the last has ended, beside as many bwrap`,
  limit: null,
  async run(context, quick) {
    const daemon = new BenchDaemon(context);
    try {
      await daemon.filled();
      const series = [];
      const skipped = {};
      for (const count of COUNTS) {
        try {
          series.push({ at: count, names, ...(await atOnce(daemon, count, quick)) });
        } catch (error) {
          skipped[`${count} at once`] = error.message;
        }
      }
      const { ratio, interval, subject, reference } = series.at(-1);
      return { ratio, interval, subject, reference, series, skipped };
    } finally {
      daemon.stop();
    }
  },
};

async function atOnce(daemon, count, quick) {
  const at = { cwd: daemon.project, count };
  const { ours, bwrap } = await interleaved(
    {
      ours: () => daemon.stopwatch.untilExit(daemon.runTrue, at),
      bwrap: () => daemon.stopwatch.untilExit(bwrapTrue, at),
    },
    { rounds: quick ? 2 : 10, warmUps: 1, settleMs: 50 },
  );
  return compare(ours, bwrap);
}
