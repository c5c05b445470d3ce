// `npm run mutation`: changes the code of walls, one place at a time, and counts how many changes the unit tests notice.
// Stryker makes the changes (scripts/mutation/areas.mjs: to which files). Status 1 where an area has fewer than are asked.
//
//   npm run mutation                 every area; hours
//   npm run mutation -- egress keys  some of them
//   npm run mutation -- --list       what there is
//
// Constants that are computed once, when a module is read, are left out: each would want all tests run anew.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { areas, LEAST_KILLED } from "./mutation/areas.mjs";
import { judge } from "./mutation/report.mjs";
import { npmTool } from "./npm-tool.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const description = join(root, "scripts", "mutation");
const reports = join(root, ".build", "mutation");

function fail(message) {
  process.stderr.write(`mutation: ${message}\n`);
  process.exit(2);
}

const asked = process.argv.slice(2);
if (asked[0] === "--list") {
  for (const [name, { what }] of Object.entries(areas)) process.stdout.write(`${name.padEnd(12)}${what}\n`);
  process.exit(0);
}
const unknown = asked.filter((name) => !(name in areas));
if (unknown.length > 0) fail(`no area is called ${unknown.join(", ")}; npm run mutation -- --list names them`);

const modules = join(npmTool(description), "node_modules");
const results = (asked.length > 0 ? asked : Object.keys(areas)).map((name) => ({ name, ...tried(name, areas[name]) }));
process.stdout.write("\n");
for (const { name, killed, judged, percent, minutes } of results)
  process.stdout.write(
    `${percent < LEAST_KILLED ? "FAIL" : "ok  "} ${name}: ${killed} of ${judged} changes noticed, ${percent.toFixed(1)} % (${minutes.toFixed(0)} min)\n`,
  );
process.exitCode = results.every(({ percent }) => percent >= LEAST_KILLED) ? 0 : 1;

function tried(name, { mutate, tests }) {
  const folder = join(reports, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const report = join(folder, "report.json");
  const settings = join(folder, "stryker.config.mjs");
  writeFileSync(settings, `export default ${JSON.stringify(settingsFor({ mutate, report, name }), null, 2)};\n`);
  process.stdout.write(`\n== ${name}\n`);
  const startedMs = Date.now();
  const program = join(modules, "@stryker-mutator", "core", "bin", "stryker.js");
  const { status } = spawnSync(process.execPath, [program, "run", settings], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, AGENTKERNEL_MUTATION_TESTS: JSON.stringify(tests) },
  });
  if (status !== 0) fail(`Stryker ended with ${status} in the area ${name}`);
  const { survivors, ...shares } = judge(JSON.parse(readFileSync(report, "utf8")));
  for (const { place, change, isReached } of survivors)
    process.stdout.write(`survived ${place}${isReached ? "" : " (no test reaches it)"}: ${change}\n`);
  return { ...shares, minutes: (Date.now() - startedMs) / 60_000 };
}

function settingsFor({ mutate, report, name }) {
  return {
    plugins: [join(modules, "@stryker-mutator", "vitest-runner", "dist", "src", "index.js")],
    testRunner: "vitest",
    vitest: { configFile: "scripts/mutation/vitest.config.mjs", related: false },
    mutate,
    // What is copied for each run.
    ignorePatterns: ["**", "!src/**", "!spec/**", "!scripts/**", "!test/support/**", "!package.json"],
    tempDirName: join(".build", "mutation", name, "copy"),
    // There is none in the copy: nothing is type-checked.
    tsconfigFile: "no-tsconfig.json",
    coverageAnalysis: "perTest",
    ignoreStatic: true,
    reporters: ["json"],
    jsonReporter: { fileName: report },
    timeoutMS: 20_000,
    allowConsoleColors: false,
  };
}
