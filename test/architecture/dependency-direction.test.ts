import { describe, expect, it } from "vitest";
import {
  allowedImports,
  forbiddenImports,
  importCycles,
  importSpecifiers,
  isSharedData,
  readModuleGraph,
} from "./module-graph.js";

const graph = readModuleGraph("src", "all");

describe("the source tree", () => {
  it("is read at all", () => {
    expect(graph.size).toBeGreaterThan(3);
    expect([...graph.values()].flat().length).toBeGreaterThan(3);
  });

  it("imports only modules that exist or data of the specification", () => {
    const targets = [...graph.values()].flat().filter((target) => !isSharedData(target));
    expect(targets.filter((target) => !graph.has(target))).toEqual([]);
  });

  it("points its dependencies one way", () => {
    expect(forbiddenImports(graph)).toEqual([]);
  });

  it("has no cycle between folders", () => {
    expect(importCycles(allowedImports)).toEqual([]);
  });

  it("has no cycle between files that load one another", () => {
    expect(importCycles(readModuleGraph("src", "at-load"))).toEqual([]);
  });
});

describe("the check of the direction", () => {
  it.each([
    ["src/core/exec.ts", "src/policy/resolve.ts"],
    ["src/policy/resolve.ts", "src/images/host.ts"],
    ["src/doctor/checks.ts", "src/backends/linux/index.ts"],
    ["src/egress/gateway.ts", "src/backends/linux/index.ts"],
    ["src/backends/linux/index.ts", "src/runtime/lifecycle.ts"],
    ["src/runtime/lifecycle.ts", "src/cli/main.ts"],
    ["src/api/run.ts", "src/mcp/run.ts"],
    ["src/daemon/client/session.ts", "src/cli/dispatch.ts"],
    ["src/core/exec.ts", "test/contract/floor.ts"],
    ["src/core/exec.ts", "package.json"],
  ])("refuses that %s imports %s", (path, target) => {
    expect(forbiddenImports(new Map([[path, [target]]]))).toEqual([`${path} must not import ${target}`]);
  });

  it.each([
    ["src/core/errors.ts", "spec/errors.json"],
    ["src/core/exec.ts", "src/core/errors.ts"],
    ["src/backends/linux/index.ts", "src/policy/resolve.ts"],
    ["src/runtime/lifecycle.ts", "src/backends/linux/index.ts"],
    ["src/mcp/run.ts", "src/runtime/lifecycle.ts"],
    ["src/cli/main.ts", "src/daemon/main.ts"],
  ])("lets %s import %s", (path, target) => {
    expect(forbiddenImports(new Map([[path, [target]]]))).toEqual([]);
  });

  it("refuses a folder that has no place in the order", () => {
    expect(forbiddenImports(new Map([["src/misc/thing.ts", []]]))).toHaveLength(1);
  });

  it("finds a cycle, and only once", () => {
    const ring = new Map([
      ["src/core/a.ts", ["src/core/b.ts"]],
      ["src/core/b.ts", ["src/core/c.ts"]],
      ["src/core/c.ts", ["src/core/b.ts"]],
    ]);
    expect(importCycles(ring)).toEqual(["src/core/b.ts → src/core/c.ts → src/core/b.ts"]);
  });

  it("sees every form of import, and none in a comment", () => {
    const text = `
      import a from "./a.js";
      import type { B } from "./b.js";
      import {
        c,
      } from "./c.js";
      import "./d.js";
      export * from "./e.js";
      const f = await import("./f.js");
      import table from "../../spec/errors.json" with { type: "json" };
      // import g from "./g.js";
      /* import h from "./h.js"; */
    `;
    const found = ["./a.js", "./b.js", "./c.js", "./d.js", "./e.js", "./f.js", "../../spec/errors.json"];
    expect(importSpecifiers(text, "all").sort()).toEqual(found.sort());
    expect(importSpecifiers(text, "at-load").sort()).toEqual(found.filter((name) => name !== "./f.js").sort());
  });
});
