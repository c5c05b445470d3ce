/** Takes one figure after the other within the time that there is; what cannot be taken is told apart from what failed. */
import { withinBudget } from "./budget.mjs";
import { CannotRun } from "./cannot-run.mjs";
import { hasProgram, load } from "./environment.mjs";
import { planOf, whyNot } from "./plan.mjs";

/** A figure stops taking samples after this, or earlier where the time for all is short. */
const MOST_MS = 25_000;
const LEAST_MS = 3_000;

export async function take(figures, context, { quick, untilMs, tell }) {
  const taken = { figures: [], skipped: [], failed: [] };
  // What cannot be cut short comes last, and is done in short where its time is not left.
  const inOrder = [...figures].sort((a, b) => planOf(a).wholeMs - planOf(b).wholeMs);
  for (const [index, figure] of inOrder.entries()) {
    const { name, promise, limit } = figure;
    const plan = planOf(figure);
    const reason = whyNot(plan, hasProgram, process.getuid() === 0);
    if (reason !== null) {
      taken.skipped.push({ name, reason });
      tell(`skipped ${name}: ${reason}`);
      continue;
    }
    const leftMs = untilMs - performance.now();
    const isShort = quick || plan.wholeMs > leftMs;
    const budgetMs = plan.setUpMs + Math.max(LEAST_MS, Math.min(MOST_MS, leftMs / (inOrder.length - index)));
    tell(`measuring ${name}: ${promise}`);
    const startedAt = performance.now();
    try {
      const result = await withinBudget(budgetMs, () => figure.run(context, isShort));
      const seconds = (performance.now() - startedAt) / 1000;
      taken.figures.push({ name, promise, limit, isShort, seconds, load: load(), result });
    } catch (error) {
      const list = error instanceof CannotRun ? taken.skipped : taken.failed;
      list.push({ name, reason: error.message.split("\n")[0] });
      tell(`${list === taken.failed ? "failed" : "skipped"} ${name}: ${error.stack}`);
    }
  }
  const place = (one) => figures.findIndex(({ name }) => name === one.name);
  taken.figures.sort((a, b) => place(a) - place(b));
  return taken;
}
