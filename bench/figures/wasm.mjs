import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { bwrapTrue } from "../bwrap.mjs";
import { compare, interleaved, summary } from "../measure.mjs";
import { openRaw, rawRequest } from "../raw-http.mjs";
import { timed } from "./http.mjs";

/** A command of WASI that does nothing: one page of memory, one empty function. */
const NOTHING = Buffer.from(
  "0061736d0100000001040160000003020100050301000107130206" + "6d656d6f72790200065f73746172740000" + "0a040102000b",
  "hex",
);
const AT_ONCE = 16;

export const wasmCall = {
  name: "wasm-call",
  promise: "a warm call of a module over the Unix socket, against `bwrap --unshare-all` running `true`",
  limit: { ratio: 0.3 },
  run: (context, quick) =>
    withSocket(context, async ({ call, health }) => {
      const samples = await interleaved(
        {
          call: () => timed(() => call()),
          health: () => timed(() => health()),
          bwrap: () => context.stopwatch.untilExit(bwrapTrue, { cwd: context.emptyProject }),
        },
        { rounds: quick ? 30 : 300, warmUps: 20 },
      );
      const information = { againstHealth: compare(samples.call, samples.health).ratio };
      return { ...compare(samples.call, samples.bwrap), information };
    }),
};

export const wasmThroughput = {
  name: "wasm-throughput",
  promise: `time for each of many calls over the Unix socket, ${AT_ONCE} at once; 0.5 ms is 2,000 a second`,
  limit: { p50Ms: 0.5 },
  run: (context, quick) =>
    withSocket(context, async ({ call, cpuMs }) => {
      const calls = quick ? 1000 : 2000;
      const blocks = [];
      // A server is as fast as it gets after some thousand requests.
      for (let round = -3; round < (quick ? 3 : 10); round++) {
        const cpuBefore = cpuMs();
        const { wallMs } = await timed(() => atOnce(calls, call));
        if (round >= 0) blocks.push({ wallMs: wallMs / calls, cpuMs: (cpuMs() - cpuBefore) / calls });
      }
      const subject = summary(blocks);
      return {
        subject,
        information: { callsPerSecond: 1000 / subject.p50Ms, serverCpuMsPerCall: subject.cpuP50Ms },
      };
    }),
};

export const wasmInstance = {
  name: "wasm-instance",
  promise: "an instance of a cached module in a warm worker, from nothing to callable",
  limit: { p50Ms: 0.2 },
  async run({ folder, jail: [jailBinary] }, quick) {
    const worker = join(dirname(jailBinary), "ak-wasm");
    const times = quick ? "2000" : "20000";
    const told = JSON.parse(execFileSync(worker, ["measure", moduleIn(folder), times], { encoding: "utf8" }));
    const subject = {
      p50Ms: told.median_us / 1000,
      p95Ms: told.p90_us / 1000,
      minMs: 0,
      cpuP50Ms: 0,
      samples: told.times,
    };
    return { subject, information: { p99Us: told.p99_us } };
  },
};

export const wasmCold = {
  name: "wasm-cold",
  promise: "a whole cold `run --backend wasm` of a compiled module from a checkout, against `node -e 0`",
  limit: { ratio: 1.3 },
  async run({ cli, emptyProject, folder, stopwatch }, quick) {
    const module = moduleIn(folder);
    const at = { cwd: emptyProject };
    const run = (...words) => stopwatch.untilExit([cli, "run", "--backend", "wasm", ...words, module], at);
    const samples = await interleaved(
      {
        run: () => run(),
        withoutProject: () => run("--workspace", "none"),
        node: () => stopwatch.untilExit([process.execPath, "-e", "0"], at),
      },
      { rounds: quick ? 15 : 60, warmUps: 3, settleMs: 30 },
    );
    const information = { withoutProject: compare(samples.withoutProject, samples.node).ratio };
    return { ...compare(samples.run, samples.node), information };
  },
};

export const wasmWorker = {
  name: "wasm-worker",
  promise: "a call over the Unix socket for which a worker has to be started, against `node -e 0`",
  limit: { ratio: 1.3 },
  run: (context, quick) =>
    withSocket(context, async ({ callAnew }) => {
      let memoryMiB = 100;
      const samples = await interleaved(
        {
          call: () => timed(() => callAnew(++memoryMiB)),
          node: () => context.stopwatch.untilExit([process.execPath, "-e", "0"], { cwd: context.emptyProject }),
        },
        { rounds: quick ? 15 : 60, warmUps: 3 },
      );
      return compare(samples.call, samples.node);
    }),
};

export const wasmFirst = {
  name: "wasm-first",
  promise: "the first call that a fresh daemon serves, of a compiled module, against `node -e 0`",
  limit: { ratio: 1.3 },
  async run(context, quick) {
    const samples = await interleaved(
      {
        call: () => withSocket(context, ({ call }) => timed(() => call())),
        node: () => context.stopwatch.untilExit([process.execPath, "-e", "0"], { cwd: context.emptyProject }),
      },
      { rounds: quick ? 8 : 30, warmUps: 2 },
    );
    return compare(samples.call, samples.node);
  },
};

function moduleIn(folder) {
  const path = join(folder, "nothing.wasm");
  writeFileSync(path, NOTHING);
  return path;
}

async function atOnce(calls, call) {
  let left = calls;
  const one = async (_, connection) => {
    while (left > 0) {
      left -= 1;
      await call(connection);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

/** A daemon of its own, asked over its socket. */
async function withSocket({ entry, folder }, work) {
  const runtime = join(folder, "wasm-runtime");
  mkdirSync(runtime, { recursive: true, mode: 0o700 });
  const env = { ...process.env, XDG_RUNTIME_DIR: runtime, XDG_STATE_HOME: join(folder, "wasm-state") };
  const server = spawn(process.execPath, [entry, "serve", "--port", "0"], { env, stdio: ["ignore", "pipe", "ignore"] });
  const exited = new Promise((resolve) => server.once("close", resolve));
  await new Promise((resolve) => server.stdout.once("data", resolve));
  const socketPath = join(runtime, "agentkernel", "daemon.sock");
  const connections = Array.from({ length: AT_ONCE }, () => openRaw(socketPath));
  const asks = (body) => rawRequest("POST", "/run", JSON.stringify({ backend: "wasm", ...body }));
  const command = [moduleIn(folder)];
  const same = asks({ command });
  const health = rawRequest("GET", "/health");
  const answered = async (connection, request) => {
    const answer = await connections[connection].ask(request);
    if (JSON.parse(answer).data?.exit_code !== 0) throw new Error(answer);
  };
  try {
    return await work({
      call: (connection = 0) => answered(connection, same),
      /** No worker waits for calls with these limits. */
      callAnew: (memoryMiB) => answered(0, asks({ command, resources: { memory_mb: memoryMiB } })),
      health: () => connections[0].ask(health),
      cpuMs: () => cpuMsOf(server.pid),
    });
  } finally {
    for (const connection of connections) connection.close();
    server.kill("SIGTERM");
    await exited;
  }
}

/** Of the server itself, in steps of its clock's ticks. */
function cpuMsOf(pid) {
  const stat = execFileSync("cat", [`/proc/${pid}/stat`], { encoding: "utf8" });
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
