import { compare, interleaved, summary } from "../measure.mjs";

export const coldRun = {
  name: "cold-run",
  promise: "a whole cold `run true` from a checkout, against `node -e 0`",
  limit: { ratio: 1.6 },
  async run({ cli, entry, emptyProject, stopwatch }, quick) {
    const run = ["run", "--no-network", "--image", "host", "true"];
    const at = { cwd: emptyProject };
    const samples = await interleaved(
      {
        run: () => stopwatch.untilExit([cli, ...run], at),
        withNetwork: () => stopwatch.untilExit([cli, "run", "--image", "host", "true"], at),
        withoutLauncher: () => stopwatch.untilExit([process.execPath, entry, ...run], at),
        version: () => stopwatch.untilExit([process.execPath, entry, "version"], at),
        node: () => stopwatch.untilExit([process.execPath, "-e", "0"], at),
      },
      { rounds: quick ? 15 : 60, warmUps: 3, settleMs: 30 },
    );
    return {
      ...compare(samples.run, samples.node),
      information: {
        withNetwork: compare(samples.withNetwork, samples.node).ratio,
        withoutLauncher: compare(samples.withoutLauncher, samples.node).ratio,
        versionVerb: compare(samples.version, samples.node).ratio,
        withoutLauncherP50Ms: summary(samples.withoutLauncher).p50Ms,
      },
    };
  },
};
