import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { filesUnder } from "./module-graph.js";

/** Code that may run in a process that serves many callers at once. What the caller has comes as an `Invocation`. */
const shared = ["src/cli/verbs", "src/cli/run", "src/cli/images", "src/runtime"];

/** Facts about the program itself, the same for every caller. */
const harmless = new Set(["versions", "platform", "arch", "nextTick", "getBuiltinModule"]);

function globalsIn(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  const members = [...code.matchAll(/(?<![/\w-])process\.(\w+)/g)].map((found) => found[1] ?? "");
  const taken = [...code.matchAll(/const \{([^}]*)\} = process;/g)].flatMap((found) =>
    (found[1] ?? "").split(",").map((name) => name.trim()),
  );
  const borrowed = [...code.matchAll(/\b(homedir|isatty)\(/g)].map((found) => found[1] ?? "");
  return [...members, ...taken, ...borrowed].filter((name) => name !== "" && !harmless.has(name));
}

describe("verbs, runs and the runtime", () => {
  const sources = shared.flatMap((folder) => filesUnder(folder, ".ts")).filter((path) => !path.endsWith(".test.ts"));

  it("are looked at", () => {
    expect(sources.length).toBeGreaterThan(30);
  });

  it.each(sources)("%s knows nothing of the process around it", (path) => {
    expect(globalsIn(readFileSync(path, "utf8"))).toEqual([]);
  });

  it("would be seen taking something from the process", () => {
    expect(globalsIn("const a = process.env.HOME;")).toEqual(["env"]);
    expect(globalsIn("const { stderr, env } = process;")).toEqual(["stderr", "env"]);
    expect(globalsIn("if (isatty(0)) return homedir();")).toEqual(["isatty", "homedir"]);
    expect(globalsIn("// process.env\nprocess.versions.node")).toEqual([]);
  });
});
