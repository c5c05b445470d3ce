import { bwrapTrue } from "../bwrap.mjs";
import { compare, interleaved } from "../measure.mjs";

const AT_ONCE = 100;
const IN_SEQUENCE = 200;

export const atOnce = {
  name: "hundred-at-once",
  promise: `${AT_ONCE} sandboxes started at once until the last guest is ready`,
  limit: { p50Ms: 2000 },
  async run({ jail, jailSpecFile, emptyProject, stopwatch }, quick) {
    const spec = jailSpecFile(emptyProject);
    const samples = await interleaved(
      {
        jail: () => stopwatch.untilReady(jail, spec, { count: AT_ONCE }),
        bwrap: () => stopwatch.untilExit(bwrapTrue, { count: AT_ONCE }),
      },
      { rounds: quick ? 2 : 6, warmUps: 1 },
    );
    return compare(samples.jail, samples.bwrap);
  },
};

export const inSequence = {
  name: "runs-in-sequence",
  promise: `${IN_SEQUENCE} runs one after another, against bwrap (for information)`,
  limit: null,
  async run({ cli, emptyProject, stopwatch }, quick) {
    const samples = await interleaved(
      {
        run: () => stopwatch.untilExit([cli, "run", "--no-network", "--image", "host", "true"], { cwd: emptyProject }),
        bwrap: () => stopwatch.untilExit(bwrapTrue, { cwd: emptyProject }),
      },
      { rounds: quick ? 20 : IN_SEQUENCE, warmUps: 1 },
    );
    const compared = compare(samples.run, samples.bwrap);
    const perSecond = (list) => (1000 * list.length) / list.reduce((sum, { wallMs }) => sum + wallMs, 0);
    return {
      ...compared,
      information: { runsPerSecond: perSecond(samples.run), bwrapPerSecond: perSecond(samples.bwrap) },
    };
  },
};
