/** Modules over HTTP: by path, as bytes, as a program's text; for whom; and what many calls leave. */
import { readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { ApiServer } from "../support/api-server.js";
import { handMadeModule, rustModule } from "../support/wasm-modules.js";

const tell = rustModule("tell");
const hostile = rustModule("hostile");

/** Processes whose program is the worker, below this one. */
function workersOf(server: ApiServer): number {
  const isWorker = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "ak-wasm" || commandOf(pid).startsWith("ak-guest");
    } catch {
      return false;
    }
  };
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isWorker(name) && belongsTo(name, server.pid))
    .length;
}

function commandOf(pid: string): string {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8");
}

function belongsTo(pid: string, ancestor: number): boolean {
  for (let at = Number(pid); at > 1; ) {
    if (at === ancestor) return true;
    const stat = readFileSync(`/proc/${at}/stat`, "utf8");
    at = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  }
  return false;
}

describe.each(actors)("modules over HTTP, by $name", (actor) => {
  let server: ApiServer;
  /** Of somebody who may do what the user of the machine may, whoever runs this test. */
  let admin = "";
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    admin = await server.key("own", ["--scope", "admin"]);
  });
  afterAll(async () => {
    expect(await server.stop()).toBe(0);
  });
  const run = async (body: object, key = admin) =>
    await server.ask("POST", "/run", { body: { backend: "wasm", ...body }, key });

  it("calls one by its path, one that is sent along, and a program's text", async () => {
    const byPath = await run({ command: [tell, "both"] });
    expect(byPath.json.data).toMatchObject({
      exit_code: 0,
      stdout: "to stdout\n",
      stderr: "to stderr\n",
      backend: "wasm",
    });
    expect(byPath.json.data.image.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    const sent = await run({ command: ["sent", "args", "x"], module: readFileSync(tell).toString("base64") });
    expect(sent.json.data).toMatchObject({ stdout: "sent|args|x\n" });
    const text = await run({ command: ["console.log(6 * 7)"], lang: "js" });
    expect(text.json.data).toMatchObject({ exit_code: 0, stdout: "42\n" });
  });

  it("gives stdin, variables and a time limit", async () => {
    expect((await run({ command: [tell, "echo"], stdin: "in" })).json.data.stdout).toBe("in");
    expect((await run({ command: [tell, "env", "A"], env: { A: "b" } })).json.data.stdout).toBe("b\n");
    const late = await run({ command: [hostile, "loop"], timeout_ms: 300 });
    expect(late.json.data).toMatchObject({ timed_out: true, exit_code: 124 });
    expect((await run({ command: [hostile, "panic"] })).json.data).toMatchObject({ exit_code: 134 });
  });

  it("somebody else sends modules, and names none of this machine", async () => {
    const key = await server.key("other", ["--scope", "run"]);
    const named = await run({ command: [tell] }, key);
    expect(named).toMatchObject({ status: 403 });
    const sent = await run({ command: ["m", "count"], module: readFileSync(tell).toString("base64") }, key);
    expect(sent.json.data).toMatchObject({ exit_code: 0, stdout: "1\n" });
  });

  it("keeps all records of many calls, and each whole", async () => {
    const calls = 25;
    const answers = await Promise.all(Array.from({ length: calls }, () => run({ command: [tell, "count"] })));
    const wanted = new Set(answers.map(({ json }) => json.data.sandbox));
    expect(wanted.size).toBe(calls);
    // They are written together, shortly after the answers.
    const recorded = async () => {
      const { json } = await server.ask("GET", "/audit?type=sandbox.end&limit=1000", { key: admin });
      return json.data.records.filter((one: { sandbox: string }) => wanted.has(one.sandbox)).length;
    };
    await expect.poll(recorded).toBe(calls);
  });

  it("refuses what does not fit together", async () => {
    expect((await run({ command: ["1"], lang: "js", backend: "linux" })).status).toBe(400);
    expect((await run({ command: ["relative.wasm"] })).status).toBe(400);
    expect((await run({ command: ["m"], module: "not base64!" })).status).toBe(400);
    expect((await run({ command: ["m"], module: handMadeModule().toString("base64"), image: "host" })).status).toBe(
      400,
    );
  });

  it("many calls leave no process, and no descriptor, behind", async () => {
    const call = async () =>
      expect((await run({ command: [tell, "count"] })).json.data).toMatchObject({ stdout: "1\n" });
    await Promise.all(Array.from({ length: 8 }, call));
    const descriptors = () => readdirSync(`/proc/${server.pid}/fd`).length;
    const before = { descriptors: descriptors(), workers: workersOf(server) };
    for (let round = 0; round < 40; round++) await Promise.all(Array.from({ length: 8 }, call));
    const workers = workersOf(server);
    expect(workers).toBeLessThanOrEqual(Math.max(4, 2 * cpus().length));
    // Each worker has a few of its own.
    expect(descriptors()).toBeLessThanOrEqual(before.descriptors + 4 * Math.max(1, workers - before.workers));
  }, 120_000);
});
