/**
 * bench/ owns the figures of SPECIFICATION.md: it measures what is built, beside a reference in the same run, and
 * never changes what it measures.
 *
 *   npm run bench -- [--quick] [--minutes N] [--only NAME]... [--write]
 *
 * The report is in .build; `--write` makes it the documentation's (BENCHMARK.md, docs/bench, the figures of
 * SPECIFICATION.md and README.md). Status 1: a promise is not met, or a figure failed.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { environment, load } from "./environment.mjs";
import { figures } from "./figures/index.mjs";
import { isMet, table } from "./report/table.mjs";
import { comparisons, inWords } from "./report/verdict.mjs";
import { writeReport } from "./report/write.mjs";
import { stage } from "./stage.mjs";
import { take } from "./take.mjs";

/** Less than the 15 that are promised: a figure that has begun is not cut off. */
const MINUTES = 13;

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    minutes: { type: "string", default: String(MINUTES) },
    only: { type: "string", multiple: true },
    write: { type: "boolean", default: false },
  },
});
const unknown = (values.only ?? []).filter((name) => !figures.some((figure) => figure.name === name));
if (unknown.length > 0) {
  console.error(`no figure ${unknown.join(", ")}; there are: ${figures.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}
if (values.write && (values.quick || values.only !== undefined)) {
  console.error("--write is for a whole run: the documentation has no figures of a part, or of few samples");
  process.exit(2);
}
const chosen = figures.filter(({ name }) => values.only?.includes(name) ?? true);

const [startedAt, loadAtStart] = [performance.now(), load()];
const context = await stage();
const untilMs = startedAt + Number(values.minutes) * 60_000;
const taken = await take(chosen, context, { quick: values.quick, untilMs, tell: (text) => console.error(text) });
context.stopwatch.close();

const report = {
  at: new Date().toISOString(),
  quick: values.quick,
  seconds: (performance.now() - startedAt) / 1000,
  environment: environment(join(context.folder, "srt")),
  load: { start: loadAtStart, end: load() },
  ...taken,
  figures: taken.figures.map((figure) => ({ ...figure, met: isMet(figure) })),
};
const written = writeReport(report, { isForDocs: values.write });
for (const one of comparisons(report.figures)) {
  console.log(`${one.verdict.padEnd(5)} ${one.ours} against ${one.rival}: ${inWords(one)}`);
}
process.stdout.write(`\n${table(report.figures)}`);
console.log(`load average ${report.load.start.toFixed(1)} to ${report.load.end.toFixed(1)}; ${written.join(", ")}`);
process.exitCode = report.failed.length > 0 || report.figures.some(({ met }) => met === false) ? 1 : 0;
