import { compare, interleaved } from "../measure.mjs";

const ZEROES = "head -c 1G /dev/zero";

function pipedToCat({ stopwatch, emptyProject }, producer) {
  return () => stopwatch.untilExit(["sh", "-c", `${producer} | cat >/dev/null`], { cwd: emptyProject });
}

export const stdoutGigabyte = {
  name: "stdout-gigabyte",
  promise: "1 GB through stdout into cat, against the same bytes through a plain pipe",
  limit: { ratio: 6 },
  async run(context, quick) {
    const oneNodeHop = `${process.execPath} -e "process.stdin.pipe(process.stdout)"`;
    const samples = await interleaved(
      {
        run: pipedToCat(context, `${context.cli} run --no-network --image host ${ZEROES}`),
        pipe: pipedToCat(context, ZEROES),
        oneNodeHop: pipedToCat(context, `${ZEROES} | ${oneNodeHop}`),
      },
      { rounds: quick ? 3 : 9, warmUps: 1 },
    );
    return {
      ...compare(samples.run, samples.pipe),
      information: { oneNodeHop: compare(samples.oneNodeHop, samples.pipe).ratio },
    };
  },
};

export const stdoutGrowth = {
  name: "stdout-growth",
  promise: "growth of the command line's memory while 1 GB goes through it, against an idle run",
  limit: { mib: 64 },
  async run(context, quick) {
    // The largest process of such a pipe is the command line.
    const samples = await interleaved(
      {
        busy: pipedToCat(context, `${context.cli} run --no-network --image host ${ZEROES}`),
        idle: pipedToCat(context, `${context.cli} run --no-network --image host true`),
      },
      { rounds: quick ? 2 : 5, warmUps: 0 },
    );
    const mib = (list) => list.map((sample) => sample.maxRssKiB / 1024);
    const idleMiB = Math.min(...mib(samples.idle));
    return { mib: Math.max(...mib(samples.busy)) - idleMiB, information: { idleMiB } };
  },
};
