/**
 * Processor time instead of wall time, for those who make something faster: a busy machine hardly changes it.
 * `node bench/processor-time.mjs [runs]` prints what one exec over HTTP and one warm run cost the daemon and the jails.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BenchDaemon } from "./daemon.mjs";
import { HttpClient } from "./http-client.mjs";
import { stage } from "./stage.mjs";

const TICK_MS = 10;
const count = Number(process.argv[2] ?? 500);
const WARM_UPS = 60;
const NAME = "cost";

const context = await stage();
const daemon = new BenchDaemon(context);
const client = new HttpClient({ path: join(daemon.variables.XDG_RUNTIME_DIR, "agentkernel", "daemon.sock") });
try {
  await client.ask("POST", "/sandboxes", { name: NAME, image: "host", network: false });
  const guest = processes().find(({ name, parentName }) => name === "ak-guest" && parentName === "ak-jail");
  await cost("exec over HTTP", () => client.ask("POST", `/sandboxes/${NAME}/exec`, { command: ["true"] }), {
    daemon: daemon.status.pid,
    ...(guest === undefined ? {} : { "guest and its commands": guest.pid }),
  });
  await client.ask("DELETE", `/sandboxes/${NAME}?force=true`);
  await daemon.filled();
  const launcher = processes().find(({ name, parent }) => name === "ak-launcher" && parent === daemon.status.pid);
  await cost("run, warm", () => daemon.run(), {
    daemon: daemon.status.pid,
    ...(launcher === undefined ? {} : { "launcher and jails": launcher.pid }),
  });
} finally {
  client.close();
  daemon.stop();
  context.stopwatch.close();
}

/** A process counts with those of its children that it has waited for. */
async function cost(what, once, pids) {
  for (let run = 0; run < WARM_UPS; run++) await once();
  const before = Object.values(pids).map(spentMs);
  for (let run = 0; run < count; run++) await once();
  // What clears up after the last one.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const after = Object.values(pids).map(spentMs);
  for (const [index, name] of Object.keys(pids).entries()) {
    console.log(`${what}: ${((after[index] - before[index]) / count).toFixed(2)} ms, ${name}`);
  }
}

function spentMs(pid) {
  const threads = readdirSync(`/proc/${pid}/task`).map((id) =>
    Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, "utf8").split(" ")[0]),
  );
  const [userOfChildren, systemOfChildren] = fieldsOf(pid).slice(13, 15).map(Number);
  return threads.reduce((sum, ns) => sum + ns, 0) / 1e6 + (userOfChildren + systemOfChildren) * TICK_MS;
}

function processes() {
  const known = readdirSync("/proc").flatMap((name) => {
    try {
      return /^\d+$/.test(name) ? [{ pid: Number(name), name: nameOf(name), parent: Number(fieldsOf(name)[1]) }] : [];
    } catch {
      // It has ended in the meantime.
      return [];
    }
  });
  const names = new Map(known.map(({ pid, name }) => [pid, name]));
  return known.map((process) => ({ ...process, parentName: names.get(process.parent) ?? "" }));
}

function nameOf(pid) {
  return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
}

/** From the state on: what comes before is a name that may hold anything. */
function fieldsOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
