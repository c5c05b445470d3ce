/** The set-up of a checkout, with stand-ins for what takes long: cargo, npm and the bundler. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const programs = "client guest jail changes copy entry probe unpack pack vmm init"
  .split(" ")
  .map((name) => `ak-${name}`);
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentkernel-set-up-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
}

class Checkout {
  readonly root: string;

  constructor(name: string) {
    this.root = join(folder, name);
    for (const script of ["setup.sh", "setup-steps.sh", "setup-tools.sh", "setup-native.sh", "rustc-path-free.sh"]) {
      cpSync(join("scripts", script), this.path("scripts", script), { recursive: true });
    }
    for (const name of ["package.json", "package-lock.json", "native/Cargo.toml", "native/Cargo.lock", "src/a.ts"]) {
      write(this.path(name), name);
    }
    write(this.path("native/.cargo/config.toml"), "");
    write(this.path("native/wasm/Cargo.toml"), "[dependencies]\nak-wire.workspace = true\n");
    write(this.path("native/wire/Cargo.toml"), '[dependencies]\nak-sys = { path = "../sys" }\n');
    write(this.path("native/sys/Cargo.toml"), "[dependencies]\n");
    write(this.path("native/vmm/main.rs"), "");
    write(this.path("spec/a.json"), "{}");
    write(
      this.path("scripts/compile-native.sh"),
      `echo "$2" >>compiled; mkdir -p "$1"; for name in ${[...programs, "ak-wasm"].join(" ")}; do
        echo "$2" >"$1/$name"; chmod 755 "$1/$name"; done; echo "$1"\n`,
    );
    const made = ["agentkernel.js", "build-id", "wasm/quickjs.wasm"];
    write(
      this.path("scripts/build.mjs"),
      `import { mkdirSync, writeFileSync } from "node:fs"; mkdirSync("dist/wasm", { recursive: true });
      for (const name of ${JSON.stringify(made)}) writeFileSync("dist/" + name, "");\n`,
    );
    write(this.path("scripts/bundle/entry.mjs"), "");
    write(this.path("scripts/bundle/parts.mjs"), "");
    write(this.path("tools/npm"), '#!/bin/sh\necho "$*" >>installed; mkdir -p node_modules\n', 0o755);
  }

  path(...names: string[]): string {
    return join(this.root, ...names);
  }

  /** What the words of the set-up had compiled, and what it said. */
  setUp(...words: string[]): { readonly compiled: readonly string[]; readonly said: string } {
    rmSync(this.path("compiled"), { force: true });
    const { status, stderr, stdout } = spawnSync("sh", [this.path("scripts/setup.sh"), ...words], {
      encoding: "utf8",
      env: {
        ...process.env,
        PATH: `${this.path("tools")}:${process.env.PATH}`,
        AGENTKERNEL_BUILD_CACHE: join(folder, "cache"),
      },
    });
    expect({ status, stdout, stderr }).toMatchObject({ status: 0, stdout: "" });
    const compiled = existsSync(this.path("compiled")) ? readFileSync(this.path("compiled"), "utf8") : "";
    return { compiled: compiled.split("\n").filter((word) => word !== ""), said: stderr };
  }

  program(name: string): string {
    return readFileSync(this.path("dist/native", name), "utf8").trim();
  }
}

describe("the set-up of a checkout", () => {
  it("makes for a first run what a run needs, in one line a step, and nothing the second time", () => {
    const checkout = new Checkout("one");
    const { compiled, said } = checkout.setUp("runtime", "--quiet");
    expect(compiled).toEqual(["--checkout"]);
    expect(existsSync(checkout.path("dist/native/ak-wasm"))).toBe(false);
    expect(readFileSync(checkout.path("installed"), "utf8")).toContain("--omit=dev");
    const [announced, ...steps] = said.trimEnd().split("\n");
    expect(announced).toMatch(/^agentkernel: setting up this checkout, which happens once: about a minute/);
    const names = ["npm packages: ", "native programs: ", "the command line: ", "ready after "];
    expect(steps.map((line) => /^ {2}(.*?)\d+ s$/.exec(line)?.[1])).toEqual(names);
    expect(checkout.setUp("runtime", "--quiet")).toEqual({ compiled: [], said: "" });
  });

  it("compiles the worker for WebAssembly when it is asked for, and anew when a crate of it has changed", () => {
    const checkout = new Checkout("one");
    checkout.setUp("runtime");
    expect(checkout.setUp("wasm").compiled).toEqual(["--worker"]);
    expect(checkout.program("ak-wasm")).toBe("--worker");
    write(checkout.path("native/vmm/main.rs"), "changed");
    expect(checkout.setUp("runtime").compiled).toEqual(["--checkout"]);
    write(checkout.path("native/sys/lib.rs"), "changed");
    expect(checkout.setUp("runtime").compiled).toEqual(["--checkout", "--worker"]);
  });

  it("compiles everything for a release, never out of the cache, and a later run keeps that", () => {
    new Checkout("one").setUp("build");
    const checkout = new Checkout("two");
    expect(checkout.setUp("build").compiled).toEqual(["--release", "--worker"]);
    expect(readFileSync(checkout.path("installed"), "utf8")).not.toContain("--omit");
    expect(checkout.setUp("runtime").compiled).toEqual([]);
    write(checkout.path("native/vmm/main.rs"), "changed");
    expect(checkout.setUp("runtime").compiled).toEqual(["--release"]);
  });

  it("gives a second checkout the programs of the first, if every byte is as it was kept", () => {
    new Checkout("one").setUp("runtime");
    const [entry = ""] = readdirSync(join(folder, "cache"));
    const second = new Checkout("two");
    expect(second.setUp("runtime").compiled).toEqual([]);
    expect(programs.map((name) => second.program(name))).toEqual(programs.map(() => "--checkout"));
    writeFileSync(join(folder, "cache", entry, "ak-jail"), "not what was kept\n");
    const third = new Checkout("three");
    expect(third.setUp("runtime").compiled).toEqual(["--checkout"]);
    expect(third.program("ak-jail")).toBe("--checkout");
  });

  it("lints the worker once for the same sources, also in another checkout", () => {
    const first = new Checkout("one");
    first.setUp("wasm");
    expect(first.setUp("lint-worker").compiled).toEqual(["--lint-worker"]);
    const second = new Checkout("two");
    expect(second.setUp("lint-worker").compiled).toEqual([]);
    write(second.path("native/sys/lib.rs"), "changed");
    expect(second.setUp("lint-worker").compiled).toEqual(["--lint-worker"]);
  });

  it("takes no program from a cache that others may write", () => {
    new Checkout("one").setUp("runtime");
    chmodSync(join(folder, "cache"), 0o777);
    expect(new Checkout("two").setUp("runtime").compiled).toEqual(["--checkout"]);
  });
});
