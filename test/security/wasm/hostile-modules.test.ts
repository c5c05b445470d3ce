/** Modules that mean harm: what they do is theirs alone, and is reported. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { ApiServer } from "../../support/api-server.js";
import { leavesNothingBehind } from "../../support/nothing-left.js";
import { makeProject } from "../../support/project.js";
import { runCli } from "../../support/run-cli.js";
import { code, type HandMade, handMadeModule, rustModule } from "../../support/wasm-modules.js";

const tell = rustModule("tell");
const hostile = rustModule("hostile");
const [actor] = actors;
if (actor === undefined) throw new Error("there is no actor");

const run = (words: readonly string[], cwd?: string) =>
  runCli(actor, ["run", "--backend", "wasm", ...words], cwd === undefined ? {} : { cwd });

describe("P1 on wasm: what a module takes ends at its limits", () => {
  leavesNothingBehind();

  it("memory: growth ends at the limit, and what cannot go on without traps", async () => {
    const grown = await run(["--memory", "256m", hostile, "memory"]);
    expect(grown.status).toBe(0);
    const mib = Number(/^(\d+) MiB/.exec(grown.stdout)?.[1]);
    expect(mib).toBeGreaterThan(200);
    expect(mib).toBeLessThanOrEqual(256);
    const allocated = await run(["--memory", "256m", hostile, "allocate"]);
    expect(allocated).toMatchObject({ status: 134, stdout: "" });
    expect(allocated.stderr).toContain("it had asked for more memory than it may have");
  });

  // THREATS P2 and G2.
  it("loops, sleeps, waits for input, and output that nobody reads end with the time", async () => {
    for (const how of ["loop", "sleep", "output"]) {
      const { status } = await run(["--timeout", "500ms", hostile, how]);
      expect({ how, status }).toEqual({ how, status: 124 });
    }
  });

  it.each<[string, HandMade, number, RegExp]>([
    ["a loop while the instance is made", { start: code.forever, atOnce: true }, 124, /timed out/],
    ["calls without end", { start: code.itself }, 139, /call stack exhausted/],
    ["a trap while the instance is made", { start: code.unreachable, atOnce: true }, 134, /unreachable/],
    ["a huge table", { tableElements: 10_000_000 }, 126, /table/],
    ["more tables than there can be", { tableElements: 4_294_967_295 }, 126, /table/],
    ["a huge memory from the start", { memoryPages: 65_536 }, 126, /memory/],
    ["an import that is not there", { imports: [["env", "system"]] }, 126, /env::system/],
    ["an import of another form", { imports: [["wasi_snapshot_preview1", "fd_write"]] }, 126, /fd_write/],
    ["sockets of other engines", { imports: [["wasi_snapshot_preview1", "sock_open"]] }, 126, /sock_open/],
    ["no entry", { entry: "main" }, 126, /_start/],
  ])("%s is reported", async (_, parts, status, reason) => {
    const { path } = makeProject(actor, {});
    writeFileSync(join(path, "m.wasm"), handMadeModule(parts));
    const result = await run(["--timeout", "2s", "--memory", "256m", "m.wasm"], path);
    expect(result).toMatchObject({ status, stdout: "" });
    expect(result.stderr).toMatch(reason);
  });
});

describe("F1 on wasm: files outside of what is shown cannot be read", () => {
  leavesNothingBehind();

  it("paths that lead out lead nowhere, and nobody waits for a pipe", async () => {
    const { path } = makeProject(actor, { "inside.txt": "inside", ".env": "SECRET=1" });
    mkdirSync(join(path, "sub"));
    symlinkSync("/etc", join(path, "etc"));
    symlinkSync("../../../../etc/passwd", join(path, "up"));
    symlinkSync("/workspace/inside.txt", join(path, "absolute"));
    execFileSync("mkfifo", [join(path, "pipe")]);
    const paths = [
      "pipe",
      "etc/passwd",
      "up",
      "absolute",
      "sub/../../etc/passwd",
      "/workspace/../etc/passwd",
      "//etc/passwd",
    ];
    for (const asked of [...paths, ".env", "/workspace/.env", "/dev/null", "/proc/1/environ", "/module"]) {
      const { status, stdout } = await run([tell, "read", asked], path);
      expect({ asked, status, stdout }).toEqual({ asked, status: 3, stdout: "" });
    }
    expect(await run(["--workdir", "/workspace/etc", tell, "list", "."], path)).toMatchObject({ status: 125 });
    expect(await run([tell, "read", "sub/../inside.txt"], path)).toMatchObject({ status: 0, stdout: "inside" });
  });

  it("what no library would pass to the functions of WASI is refused, and shows or changes nothing outside", async () => {
    const around = makeProject(actor, { "project/inside.txt": "inside", "project/sub/empty": "" });
    const path = join(around.path, "project");
    for (const [name, target] of [
      ["out", "/etc"],
      ["absolute", "/workspace/inside.txt"],
      ["up", "../../../../etc/passwd"],
      ["loop", "loop"],
      ["dangling", "../made-outside"],
    ] as const) {
      symlinkSync(target, join(path, name));
    }
    execFileSync("mkfifo", [join(path, "pipe")]);
    expect(await run(["--workspace", "sync", rustModule("raw")], path)).toMatchObject({
      status: 0,
      stdout: "118 hold\n",
    });
    expect(readdirSync(around.path)).toEqual(["project"]);
  });
});

describe("F2 on wasm: whatever the functions of WASI are asked, they answer", () => {
  leavesNothingBehind();

  it("twenty thousand calls with words by chance end with the module's own status, and change nothing", async () => {
    const { path, content } = makeProject(actor, { "project/a/b": "inside", "c/b": "outside", b: "outside" });
    const before = content();
    for (const seed of ["1", "2"]) {
      const result = await run([rustModule("chance"), seed], join(path, "project"));
      expect({ seed, ...result }).toMatchObject({ seed, status: 40 });
    }
    expect(content()).toEqual(before);
  });
});

describe("G1 on wasm: malformed modules, many of them", () => {
  let server: ApiServer;
  beforeAll(async () => {
    server = await ApiServer.start(actor);
  });
  afterAll(async () => {
    await server.stop();
  });

  it("are refused or run to an end of their own, and the server serves on", async () => {
    const whole = handMadeModule({ imports: [["wasi_snapshot_preview1", "sched_yield"]], tableElements: 10 });
    const real = readFileSync(tell);
    // A generator with a fixed seed: what fails once fails again.
    let state = 12_345;
    const next = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return state % below;
    };
    const broken = Array.from({ length: 60 }, (_, round) => {
      const bytes = Buffer.from(round % 6 === 0 ? real.subarray(0, 8 + next(real.length - 8)) : whole);
      for (let flips = 1 + next(4); flips > 0; flips--) bytes[8 + next(bytes.length - 8)] = next(256);
      return bytes;
    });
    for (const module of broken) {
      const body = { command: ["m"], backend: "wasm", module: module.toString("base64"), timeout_ms: 2000 };
      const { status, json } = await server.ask("POST", "/run", { body });
      const isResult = status === 200 && typeof json.data.exit_code === "number";
      const isRefusal = json.success === false && json.error.code === "command_not_executable";
      expect(isResult || isRefusal, JSON.stringify(json)).toBe(true);
    }
    const body = { command: ["m"], backend: "wasm", module: handMadeModule().toString("base64") };
    expect((await server.ask("POST", "/run", { body })).json.data).toMatchObject({ exit_code: 0 });
  }, 120_000);
});
