/**
 * Whether runs get slower. Blocks of runs take turns with blocks of a control, `bwrap … true`, which does the same kind
 * of work in the kernel and nothing of ours. Each block's median is divided by that of the control's block beside it,
 * so that what else the machine does falls on both; the drift is the median of these ratios in the last quarter over
 * that in the first. Plain medians are told as well: a slower kernel would slow the control too.
 */
import { bwrapTrue } from "../../bench/bwrap.mjs";
import { quantile } from "../../bench/measure.mjs";

const BLOCK = 20;
const median = (values) => quantile(values, 0.5);

export async function drift(stopwatch, words, project, runs, onProgress) {
  const blocks = [];
  const timed = async (argv) => {
    const walls = [];
    for (let run = 0; run < BLOCK; run++) walls.push((await stopwatch.untilExit(argv, { cwd: project })).wallMs);
    return median(walls);
  };
  for (let run = 0; run < runs; run += BLOCK) {
    const [runMs, controlMs] = [await timed(words), await timed(bwrapTrue)];
    blocks.push({ runMs, controlMs, ratio: runMs / controlMs });
    onProgress(run + BLOCK);
  }
  const quarter = Math.max(1, Math.floor(blocks.length / 4));
  const [first, last] = [quarterOf(blocks.slice(0, quarter)), quarterOf(blocks.slice(-quarter))];
  return { first, last, drift: last.ratio / first.ratio, plain: last.runMs / first.runMs, runs: blocks.length * BLOCK };
}

function quarterOf(blocks) {
  const of = (field) => median(blocks.map((block) => block[field]));
  return { runMs: of("runMs"), controlMs: of("controlMs"), ratio: of("ratio") };
}
