/** Measurements side by side in one run: what a figure compares is taken in turn, in random order, after a warm-up. */
import { setTimeout } from "node:timers/promises";
import { ratioInterval } from "./bootstrap.mjs";
import { isBudgetSpent } from "./budget.mjs";

/** Fewer say nothing, whatever they cost. */
const LEAST_ROUNDS = 5;

/**
 * `subjects` maps a name to a function that takes one sample. Each round takes one of every subject, so that whatever
 * else the machine does falls on all of them. `settleMs` passes before each sample: the kernel answers faster while it
 * is still warm from the last sandbox, and cleans up after it meanwhile, and a user's sandbox knows neither. There are
 * fewer rounds where the figure's time is up.
 */
export async function interleaved(subjects, { rounds, warmUps, settleMs = 0 }) {
  const samples = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
  for (let round = -warmUps; round < rounds; round++) {
    if (round >= LEAST_ROUNDS && isBudgetSpent()) break;
    for (const name of shuffled(Object.keys(subjects))) {
      if (settleMs > 0) await setTimeout(settleMs);
      const sample = await subjects[name]();
      if (round >= 0) samples[name].push(sample);
    }
  }
  return samples;
}

export function summary(samples) {
  const of = (field) => samples.map((sample) => sample[field]);
  return {
    p50Ms: quantile(of("wallMs"), 0.5),
    p95Ms: quantile(of("wallMs"), 0.95),
    p99Ms: quantile(of("wallMs"), 0.99),
    minMs: Math.min(...of("wallMs")),
    cpuP50Ms: quantile(of("cpuMs"), 0.5),
    samples: samples.length,
  };
}

/**
 * How `subject` compares with `reference`. The ratio that is promised is that of the medians; the others tell a busy
 * machine from a slow program.
 */
export function compare(subject, reference) {
  const [ours, theirs] = [summary(subject), summary(reference)];
  return {
    ratio: ours.p50Ms / theirs.p50Ms,
    interval: ratioInterval(walls(subject), walls(reference)),
    ratios: {
      p95: ours.p95Ms / theirs.p95Ms,
      min: ours.minMs / theirs.minMs,
      cpu: ours.cpuP50Ms / theirs.cpuP50Ms,
    },
    subject: ours,
    reference: theirs,
  };
}

export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * q;
  const below = Math.floor(at);
  const above = Math.ceil(at);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - below);
}

function walls(samples) {
  return samples.map(({ wallMs }) => wallMs);
}

function shuffled(names) {
  const left = [...names];
  for (let i = left.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [left[i], left[j]] = [left[j], left[i]];
  }
  return left;
}
