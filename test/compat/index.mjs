// `npm run compat`: test suites of others, outside and inside, compared test by test. See test/compat/README.md.
//
//   npm run compat                                            all suites in all places
//   npm run compat -- --suite NAME --place NAME --part NAME   less of it; each as often as needed
//   npm run compat -- --quick                                 a few parts of each
//   npm run compat -- --write                                 the page docs/what-works-inside.md too
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { places } from "./places.mjs";
import { page } from "./report.mjs";
import { runSuite } from "./run.mjs";
import { suites } from "./suites.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const several = { type: "string", multiple: true };
const { values } = parseArgs({
  options: { suite: several, place: several, part: several, quick: { type: "boolean" }, write: { type: "boolean" } },
});
const { entries } = JSON.parse(readFileSync(join(here, "expected.json"), "utf8"));
const isWanted = (asked, name) => asked === undefined || asked.includes(name);
const say = (line) => process.stderr.write(`${line}\n`);

const wanted = places.filter(({ name }) => name === "outside" || isWanted(values.place, name));
const missing = wanted.filter((place) => !place.isHere());
for (const { name } of missing) say(`not here: ${name}`);
const present = wanted.filter((place) => !missing.includes(place));

const ran = [];
for (const suite of suites.filter(({ name }) => isWanted(values.suite, name))) {
  const version = suite.version();
  if (version === null) {
    say(`not here: ${suite.name}`);
    continue;
  }
  const parts = (values.quick ? suite.quick : suite.parts).filter((part) => isWanted(values.part, part));
  const rows = await runSuite(suite, present, { parts, expected: entries, say });
  ran.push({ suite, version, rows });
  for (const { place, counts, news, stale, explained } of rows) {
    const { pass, fail, skip } = counts;
    process.stdout.write(`${suite.name} ${version} ${place.name}: ${pass} passed, ${fail} failed, ${skip} skipped; `);
    process.stdout.write(`${explained} differences expected, ${news.length} not\n`);
    for (const { test, inside } of news) process.stdout.write(`  DIFFERS ${test}: ${inside}\n`);
    for (const { tests } of stale) process.stdout.write(`  NO LONGER ${tests.join(", ")}\n`);
  }
}
if (values.write) writeFileSync(join(here, "../../docs/what-works-inside.md"), page(ran, entries));
const isRed =
  ran.length === 0 || ran.some(({ rows }) => rows.some(({ news, stale }) => news.length + stale.length > 0));
process.exitCode = isRed ? 1 : 0;
