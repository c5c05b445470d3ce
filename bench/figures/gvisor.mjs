import { BenchDaemon } from "../daemon.mjs";
import { compare, interleaved } from "../measure.mjs";

/** How long a pool has between two runs to build the next sandbox, which is a kernel's boot. */
const SETTLE_MS = 700;

export const gvisorWarm = {
  name: "gvisor-warm",
  promise: "`run true` on gvisor with the daemon's warm pool, against the same on linux",
  limit: { ratio: 2 },
  async run(context, quick) {
    const daemon = new BenchDaemon(context);
    const [client, verb, ...rest] = daemon.runTrue;
    const on = (backend) => () => daemon.run([client, verb, "--backend", backend, ...rest]);
    try {
      const samples = await interleaved(
        { gvisor: on("gvisor"), linux: on("linux") },
        { rounds: quick ? 10 : 30, warmUps: 3, settleMs: SETTLE_MS },
      );
      const { taken, missed } = daemon.pool;
      return { ...compare(samples.gvisor, samples.linux), information: { taken, missed } };
    } finally {
      daemon.stop();
    }
  },
};
