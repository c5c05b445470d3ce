import { bwrapTrue } from "../bwrap.mjs";
import { BenchDaemon } from "../daemon.mjs";
import { compare, quantile } from "../measure.mjs";

const RUNS = 200;
/** So many of one kind back to back, then as many of the other. */
const BLOCK = 20;

async function measured(context, quick, wordsOf = (daemon) => daemon.runTrue) {
  const daemon = new BenchDaemon(context);
  try {
    await daemon.filled();
    const words = wordsOf(daemon);
    for (let run = 0; run < 2 * BLOCK; run++) await daemon.run(words);
    const before = { ...daemon.pool, started: daemon.sandboxes().length };
    const [ours, theirs] = [[], []];
    const runs = quick ? 2 * BLOCK : RUNS;
    while (ours.length < runs) {
      for (let run = 0; run < BLOCK; run++) ours.push(await daemon.run(words));
      for (let run = 0; run < BLOCK; run++) theirs.push(await daemon.run(bwrapTrue));
    }
    const after = daemon.pool;
    const ids = daemon.sandboxes().slice(before.started);
    const isWhole = ids.length === runs && new Set(ids).size === runs;
    if (!isWhole) throw new Error(`${runs} runs had ${new Set(ids).size} sandboxes`);
    return { ours, theirs, misses: after.missed - before.missed };
  } finally {
    daemon.stop();
  }
}

export const warmRun = {
  name: "warm-run",
  promise: `${RUNS} back-to-back \`run true\` through the daemon, each in a sandbox of its own, against bwrap --unshare-all running true`,
  limit: { ratio: 1 },
  async run(context, quick) {
    const { ours, theirs, misses } = await measured(context, quick);
    const walls = ours.map(({ wallMs }) => wallMs);
    return {
      ...compare(ours, theirs),
      information: { misses, p99Ms: quantile(walls, 0.99), p99OverP50: quantile(walls, 0.99) / quantile(walls, 0.5) },
    };
  },
};

export const checkoutRun = {
  name: "checkout-run",
  promise: "the same by the script of a checkout, which starts a shell before the client",
  limit: null,
  async run(context, quick) {
    const { ours, theirs } = await measured(context, quick, (daemon) => daemon.runTrueInCheckout);
    return compare(ours, theirs);
  },
};

export const warmRunTail = {
  name: "warm-run-tail",
  promise: "the same runs: p99 against p50",
  limit: { ratio: 3 },
  async run(context, quick) {
    const { ours, misses } = await measured(context, quick);
    const walls = ours.map(({ wallMs }) => wallMs);
    return { ratio: quantile(walls, 0.99) / quantile(walls, 0.5), information: { misses } };
  },
};
