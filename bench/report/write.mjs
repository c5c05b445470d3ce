/**
 * bench/report owns what becomes of results: the verdict, a page, plots, and the figures that other pages state. It
 * measures nothing. Reports always go into .build, and into the documentation only where that is asked for.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { markdown } from "./markdown.mjs";
import { plotsOf } from "./plots.mjs";
import { withTable } from "./readme.mjs";
import { withFigures } from "./specification.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** The files that were written, below the checkout. */
export function writeReport(report, { isForDocs }) {
  const plots = plotsOf(report.figures);
  const text = markdown(report, plots);
  const json = `${JSON.stringify(report, null, 2)}\n`;
  const built = write(".build", "bench.json", json);
  const written = [built, write(".build", "BENCHMARK.md", text)];
  for (const { file, svg } of plots) written.push(write(join(".build", "docs", "bench"), file, svg));
  if (!isForDocs) return written;
  clear(join(root, "docs", "bench"));
  written.push(write(".", "BENCHMARK.md", text), write(join("docs", "bench"), "report.json", json));
  for (const { file, svg } of plots) written.push(write(join("docs", "bench"), file, svg));
  for (const [name, rewritten] of [
    ["SPECIFICATION.md", withFigures],
    ["README.md", withTable],
  ]) {
    written.push(write(".", name, rewritten(readFileSync(join(root, name), "utf8"), report)));
  }
  return written;
}

function write(folder, name, text) {
  mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, folder, name), text);
  return join(folder, name);
}

/** No picture of an earlier report stays beside a later one. */
function clear(folder) {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
}
