/**
 * A watch over promises that SPECIFICATION.md says are met, for every change: seconds, and never red by chance. It takes
 * few figures, those that are far within their limit, in their quick form. A row is red only where three tries in a row
 * are beyond the limit by more than a quarter; a try in which the reference itself was unsteady says nothing.
 *
 *   node bench/guard.mjs
 */
import { pathToFileURL } from "node:url";
import { withinBudget } from "./budget.mjs";
import { figures } from "./figures/index.mjs";
import { measuredBy, round, units } from "./report/table.mjs";
import { stage } from "./stage.mjs";

export const guarded = ["idle-memory", "warm-memory", "write-exec", "hundred-at-once"];
export const MARGIN = 1.25;
const TRIES = 3;
const FIGURE_MS = 4_000;
/** No try begins after this. */
const ALL_MS = 50_000;

/** `within`, `beyond`, or `unsteady` where the machine had so much else to do that nothing can be said. */
export function judge({ limit, result }) {
  const [[field, most]] = Object.entries(limit);
  if (measuredBy(result, field) <= most * MARGIN) return "within";
  return isSteady(result.reference) ? "beyond" : "unsteady";
}

/** What is not timed has no reference, and cannot be disturbed. */
function isSteady(reference) {
  return reference === undefined || reference.p95Ms < 1.5 * reference.p50Ms;
}

/** The first try that is within ends it; red only where all of them were beyond. */
export async function verdictOf(tryOnce, canGoOn) {
  const said = [];
  while (said.length < TRIES && (said.length === 0 || canGoOn())) {
    const answer = await tryOnce();
    if (answer === "within") return "within";
    said.push(answer);
  }
  return said.length === TRIES && said.every((answer) => answer === "beyond") ? "beyond" : "unsteady";
}

async function main() {
  const startedAt = performance.now();
  const context = await stage();
  const verdicts = [];
  for (const { name, limit, run } of figures.filter((figure) => guarded.includes(figure.name))) {
    const tryOnce = async () => {
      const result = await withinBudget(FIGURE_MS, () => run(context, true));
      const [[field, most]] = Object.entries(limit);
      const answer = judge({ limit, result });
      console.log(`${answer.padEnd(9)} ${name}: ${round(measuredBy(result, field))} of ${most} ${units[field]}`);
      return answer;
    };
    verdicts.push(await verdictOf(tryOnce, () => performance.now() - startedAt < ALL_MS));
  }
  context.stopwatch.close();
  process.exitCode = verdicts.includes("beyond") ? 1 : 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
