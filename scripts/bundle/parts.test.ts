import { describe, expect, it } from "vitest";
import { assignParts, type BundledModule, offeredBy, partText } from "./parts.mjs";

const loads = (...paths: string[]): BundledModule => ({
  imports: paths.map((path) =>
    path.startsWith("later ") ? { path: path.slice(6), kind: "dynamic-import" } : { path, kind: "import-statement" },
  ),
});
const inputs = {
  "src/main.ts": loads("src/core.ts", "later src/engine.ts", "later src/verb.ts"),
  "src/core.ts": loads("node_modules/small/index.js"),
  "src/engine.ts": loads("src/core.ts", "src/socket.ts"),
  "src/socket.ts": loads(),
  "src/verb.ts": loads("src/core.ts", "src/socket.ts", "node_modules/small/index.js", "src/only.ts"),
  "src/only.ts": { imports: [{ path: "node:fs", kind: "import-statement", external: true }] },
  "node_modules/small/index.js": loads(),
};
const beginnings = { cli: ["src/main.ts"], engine: ["src/engine.ts"] };

describe("the parts of the bundle", () => {
  const partOf = assignParts(inputs, beginnings);

  it("have what their beginnings load at once, each module in the first that needs it", () => {
    expect(Object.fromEntries(partOf)).toEqual({
      "src/main.ts": "cli",
      "src/core.ts": "cli",
      "node_modules/small/index.js": "cli",
      "src/engine.ts": "engine",
      "src/socket.ts": "engine",
      "src/verb.ts": "rest",
      "src/only.ts": "rest",
    });
  });

  it("offer what others load of them, but no packages", () => {
    expect(offeredBy("cli", inputs, partOf)).toEqual(["src/core.ts"]);
    expect(offeredBy("engine", inputs, partOf)).toEqual(["src/engine.ts", "src/socket.ts"]);
    expect(offeredBy("rest", inputs, partOf)).toEqual(["src/verb.ts"]);
  });

  it("begin with their offers, so that these are there for whoever is loaded meanwhile", () => {
    expect(partText(["src/core.ts"], "src/main.ts")).toBe(
      'module.exports = {\n"src/core.ts": () => require("./src/core.ts"),\n};\nrequire("./src/main.ts");\n',
    );
    expect(partText([], null)).toBe("module.exports = {\n\n};\n");
  });

  it("cannot begin with what is not there", () => {
    expect(() => assignParts(inputs, { cli: ["src/gone.ts"] })).toThrow("there is no src/gone.ts in the bundle");
  });
});
