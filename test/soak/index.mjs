/**
 * test/soak owns the question whether a daemon that works for long stays as good as new: as fast, as small, and with
 * nothing left of what it did. It uses the real daemon and the real client, never parts of them, and is no part of
 * `npm test`, which must not take that long.
 *
 *   npm run test:soak -- [--runs 20000] [--minutes 10] [--quick]
 */
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { stage } from "../../bench/stage.mjs";
import { SoakDaemon } from "./daemon.mjs";
import { drift } from "./drift.mjs";
import { MixedLoad } from "./mixed-load.mjs";
import { leakTraces } from "./traces.mjs";

const MIB = 2 ** 20;
const MOST_DRIFT = 1.1;
const MOST_GROWTH_BYTES = 5_000_000;
/**
 * Lazily loaded code and caches are there after few. But V8 compiles a function again, for speed, after thousands of
 * calls: 2 to 4 MiB of code and of what it knows about types, which comes once and stays.
 */
const WARM_UP_RUNS = 2000;
const WARM_UP_LOAD_MS = 60_000;
/** After a reading the pool is empty, which the first runs would notice. */
const PREPARING_RUNS = 40;

function askedSizes() {
  const options = { runs: { type: "string" }, minutes: { type: "string" }, quick: { type: "boolean" } };
  const { values } = parseArgs({ options });
  const [runs, minutes] = values.quick ? [400, 0.25] : [20_000, 10];
  const asked = { runs: Number(values.runs ?? runs), minutes: Number(values.minutes ?? minutes) };
  if (!(Number.isSafeInteger(asked.runs) && asked.runs >= 80)) throw new Error("--runs takes a number from 80 up");
  if (!(asked.minutes > 0)) throw new Error("--minutes takes a number above 0");
  return asked;
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

/** Those of `after` that `before` has not, counted. */
function added(before, after) {
  const left = [...before];
  return after.filter((item) => {
    const at = left.indexOf(item);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) => row.map((cell, column) => cell.padEnd(widths[column])).join("  ");
  return rows.map((row) => line(row).trimEnd()).join("\n");
}

async function soak(sizes) {
  const context = await stage();
  const { traces, leaksSince } = await leakTraces(context.folder);
  const untouched = traces();
  const daemon = new SoakDaemon(context);
  await daemon.start();
  const stopwatch = context.stopwatchWithDaemon(daemon.variables.XDG_RUNTIME_DIR, daemon.clientEnv);
  try {
    const found = await underLoad({ daemon, stopwatch, project: `${context.folder}/checkout/src` }, sizes);
    const leftWhileUp = await leaksSince(untouched);
    const status = await daemon.stop();
    return { ...found, leftWhileUp, left: await leaksSince(untouched), status };
  } finally {
    stopwatch.close();
    context.stopwatch.close();
    await daemon.end();
  }
}

async function underLoad({ daemon, stopwatch, project }, { runs, minutes }) {
  const words = [daemon.cli, "run", "true"];
  const load = new MixedLoad(daemon, project);

  say("warming up");
  await load.begin();
  await load.forMs(WARM_UP_LOAD_MS);
  await load.end();
  for (let run = 0; run < WARM_UP_RUNS; run++) await stopwatch.untilExit(words, { cwd: project });
  const before = await daemon.reading(project);

  say(`${runs} runs, in turn with the control`);
  for (let run = 0; run < PREPARING_RUNS; run++) await stopwatch.untilExit(words, { cwd: project });
  const tenth = Math.ceil(runs / 10);
  const times = await drift(stopwatch, words, project, runs, (done) => {
    if (done % tenth < 20) say(`  ${done}, load average ${loadavg()[0].toFixed(1)}`);
  });
  const afterRuns = await daemon.reading(project);

  say(`${minutes} minutes of mixed load`);
  load.counts = {};
  await load.begin();
  await load.forMs(minutes * 60_000);
  await load.end();
  const after = await daemon.reading(project);
  const { served } = await daemon.status();
  return { times, before, afterRuns, after, served, counts: load.counts };
}

function verdicts({ times, before, afterRuns, after, leftWhileUp, left, status }) {
  const growth = after.rssBytes - before.rssBytes;
  const descriptors = [
    ...added(before.descriptors, after.descriptors).map((target) => `+ ${target}`),
    ...added(after.descriptors, before.descriptors).map((target) => `- ${target}`),
  ];
  const files = added(before.files, after.files);
  const mib = (bytes) => (bytes / MIB).toFixed(1);
  const ms = (value) => value.toFixed(2);
  return [
    {
      what: "median of the last quarter over the first's, by the control",
      found: `${times.drift.toFixed(3)} × (plain ${times.plain.toFixed(3)} ×; ${ms(times.first.runMs)} to ${ms(times.last.runMs)} ms, control ${ms(times.first.controlMs)} to ${ms(times.last.controlMs)} ms)`,
      limit: `${MOST_DRIFT} ×`,
      isMet: times.drift <= MOST_DRIFT,
      items: [],
    },
    {
      what: "the daemon's resident memory, grown by",
      found: `${mib(growth)} MiB (${[before, afterRuns, after].map(({ rssBytes }) => mib(rssBytes)).join(", ")}; heap ${[before, afterRuns, after].map(({ heapBytes }) => mib(heapBytes)).join(", ")})`,
      limit: `${mib(MOST_GROWTH_BYTES)} MiB`,
      isMet: growth < MOST_GROWTH_BYTES,
      items: [],
    },
    {
      what: "its descriptors",
      found: `${before.descriptors.length}, then ${after.descriptors.length}`,
      limit: "unchanged",
      isMet: descriptors.length === 0,
      items: descriptors,
    },
    {
      what: "files more in its folders",
      found: `${files.length}`,
      limit: "0",
      isMet: files.length === 0,
      items: files,
    },
    {
      what: "processes, mounts, cgroups, sockets left while it is up",
      found: `${leftWhileUp.length}`,
      limit: "0",
      isMet: leftWhileUp.length === 0,
      items: leftWhileUp,
    },
    {
      what: "the same after it has ended",
      found: `${left.length}`,
      limit: "0",
      isMet: left.length === 0,
      items: left,
    },
    { what: "its own exit status", found: `${status}`, limit: "0", isMet: status === 0, items: [] },
  ];
}

const outcome = await soak(askedSizes());
const judged = verdicts(outcome);
const rows = judged.map(({ what, found, limit, isMet }) => [what, found, limit, isMet ? "met" : "NOT MET"]);
console.log(table([["what", "found", "limit", ""], ...rows]));
for (const { what, items } of judged) for (const item of items.slice(0, 20)) console.log(`${what}: ${item}`);
console.log(
  `mixed load: ${Object.entries(outcome.counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ")}`,
);
console.log(`${outcome.served} command lines served; load average ${loadavg()[0].toFixed(1)}`);
process.exitCode = judged.every(({ isMet }) => isMet) ? 0 : 1;
