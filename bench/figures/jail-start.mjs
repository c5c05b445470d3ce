import { bwrapTrue } from "../bwrap.mjs";
import { compare, interleaved, summary } from "../measure.mjs";

export const jailStart = {
  name: "jail-start",
  promise: "from starting the jail to the guest's ready frame, against bwrap --unshare-all running true",
  limit: { ratio: 0.8 },
  async run({ jail, jailSpecFile, emptyProject, stopwatch }, quick) {
    const withProject = jailSpecFile(emptyProject);
    const withoutProject = jailSpecFile(null);
    const captured = jailSpecFile(emptyProject, { egress: "on" });
    const samples = await interleaved(
      {
        jail: () => stopwatch.untilReady(jail, withProject),
        jailWithoutProject: () => stopwatch.untilReady(jail, withoutProject),
        jailCaptured: () => stopwatch.untilReady(jail, captured),
        bwrap: () => stopwatch.untilExit(bwrapTrue),
      },
      { rounds: quick ? 40 : 200, warmUps: 5, settleMs: 30 },
    );
    return {
      ...compare(samples.jail, samples.bwrap),
      information: {
        withoutProject: compare(samples.jailWithoutProject, samples.bwrap).ratio,
        withNetwork: compare(samples.jailCaptured, samples.bwrap).ratio,
        networkAddsMs: summary(samples.jailCaptured).p50Ms - summary(samples.jail).p50Ms,
      },
    };
  },
};
