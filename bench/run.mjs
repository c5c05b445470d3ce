/**
 * bench/ owns the figures of SPECIFICATION.md: it measures what is built, beside a reference in the same run, and
 * never changes what it measures.
 *
 *   npm run bench -- [--quick] [--only NAME]...
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { figures } from "./figures/index.mjs";
import { isMet, table } from "./report.mjs";
import { stage } from "./stage.mjs";

const output = join(dirname(dirname(fileURLToPath(import.meta.url))), ".build", "bench.json");

const { values } = parseArgs({ options: { quick: { type: "boolean" }, only: { type: "string", multiple: true } } });
const unknown = (values.only ?? []).filter((name) => !figures.some((figure) => figure.name === name));
if (unknown.length > 0) {
  console.error(`no figure ${unknown.join(", ")}; there are: ${figures.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}
const chosen = figures.filter(({ name }) => values.only?.includes(name) ?? true);

const context = await stage();
const measured = [];
for (const { name, promise, limit, run } of chosen) {
  console.error(`measuring ${name}: ${promise}`);
  measured.push({ name, promise, limit, result: await run(context, values.quick === true) });
}
context.stopwatch.close();

const machine = { cpus: cpus().length, kernel: release(), node: process.version, loadAverage: loadavg()[0] };
const report = {
  at: new Date().toISOString(),
  quick: values.quick === true,
  machine,
  figures: measured.map((figure) => ({ ...figure, met: isMet(figure) })),
};
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, `${JSON.stringify(report, null, 2)}\n`);
process.stdout.write(table(measured));
console.log(
  `load average ${machine.loadAverage.toFixed(1)} on ${machine.cpus} processors; .build/bench.json has it all`,
);
process.exitCode = report.figures.some(({ met }) => met === false) ? 1 : 0;
