/**
 * Whether many calls of a WebAssembly module leave anything: in the daemon, in the workers, on the machine. Every tenth
 * call traps, so that workers are replaced all the time.
 *
 *   npm run test:soak:wasm -- [--calls 10000]
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { stage } from "../../bench/stage.mjs";
import { SoakDaemon } from "./daemon.mjs";
import { leakTraces } from "./traces.mjs";

const AT_ONCE = 4;
const WARM_UP_CALLS = 1000;
const TRAPS_EVERY = 10;
const MOST_GROWTH_BYTES = 8_000_000;
const MOST_WORKER_BYTES = 64 << 20;

/** Commands of WASI with one page of memory: one does nothing, the other traps. */
const moduleOf = (body) =>
  Buffer.from(`0061736d0100000001040160000003020100050301000107130206${MEMORY_AND_START}${body}`, "hex");
const MEMORY_AND_START = "6d656d6f72790200065f73746172740000";

const { values } = parseArgs({ options: { calls: { type: "string", default: "10000" } } });
const calls = Number(values.calls);
if (!(Number.isSafeInteger(calls) && calls >= 100)) throw new Error("--calls takes a number from 100 up");

const context = await stage();
const { traces, leaksSince } = await leakTraces(context.folder);
const untouched = traces();
const daemon = new SoakDaemon(context);
await daemon.start();
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
const faults = [];
const expectAtMost = (what, found, limit) => {
  console.log(`${what}: ${found} (at most ${limit})`);
  if (!(found <= limit)) faults.push(what);
};
try {
  const modules = { nothing: moduleOf("0a040102000b"), trap: moduleOf("0a05010300000b") };
  const paths = Object.fromEntries(
    Object.entries(modules).map(([name, bytes]) => {
      const path = join(daemon.folder, `${name}.wasm`);
      writeFileSync(path, bytes);
      return [name, path];
    }),
  );
  await call(WARM_UP_CALLS, paths);
  const before = await daemon.reading(context.emptyProject);
  const startedAt = performance.now();
  await call(calls, paths);
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(`${calls} calls in ${seconds.toFixed(1)} s`);
  const workers = workersOf(daemon.pid);
  const after = await daemon.reading(context.emptyProject);
  expectAtMost("the daemon's memory, grown by", after.rssBytes - before.rssBytes, MOST_GROWTH_BYTES);
  expectAtMost("its descriptors more", after.descriptors.length - before.descriptors.length, 8);
  expectAtMost("files more", after.files.length - before.files.length, 0);
  expectAtMost("the largest worker's memory", Math.max(0, ...workers), MOST_WORKER_BYTES);
  agent.destroy();
  const status = await daemon.stop();
  if (status !== 0) faults.push(`the daemon ended with ${status}`);
  const left = await leaksSince(untouched);
  for (const item of left) console.log(`left: ${item}`);
  expectAtMost("left on the machine", left.length, 0);
} finally {
  context.stopwatch.close();
  await daemon.end();
}
process.exitCode = faults.length === 0 ? 0 : 1;

async function call(count, paths) {
  let next = 0;
  const one = async () => {
    while (next < count) {
      next += 1;
      const traps = next % TRAPS_EVERY === 0;
      const { data } = await ask({ command: [traps ? paths.trap : paths.nothing], backend: "wasm" });
      if (data?.exit_code !== (traps ? 134 : 0)) throw new Error(`a call answered ${JSON.stringify(data)}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

function ask(body) {
  const text = JSON.stringify(body);
  const headers = { "content-type": "application/json", "content-length": text.length };
  return new Promise((resolve, reject) => {
    const asked = request({ agent, socketPath: daemon.socket, method: "POST", path: "/run", headers }, (response) => {
      let answer = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        answer += chunk;
      });
      response.once("end", () => resolve(JSON.parse(answer)));
    });
    asked.once("error", reject);
    asked.end(text);
  });
}

/** Resident bytes of each process below this one that has a namespace of its own. */
function workersOf(pid) {
  const stats = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        const [, resident] = readFileSync(`/proc/${name}/statm`, "utf8").split(" ");
        return [{ pid: Number(name), parent: Number(parent), bytes: Number(resident) * 4096 }];
      } catch {
        return [];
      }
    });
  const below = new Set([pid]);
  for (let size = 0; size !== below.size; ) {
    size = below.size;
    for (const { pid: child, parent } of stats) if (below.has(parent)) below.add(child);
  }
  return stats.filter((stat) => stat.pid !== pid && below.has(stat.pid)).map(({ bytes }) => bytes);
}
