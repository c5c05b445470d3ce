import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { filesUnder } from "./module-graph.js";

/** Listens for `listenMarked`, which marks the port as ours first. */
const MARKED = "src/core/own-ports.ts";

/** Calls of `listen` for anything but a path: a port that no gateway would know as ours. */
function listensOnPorts(text: string): boolean {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  return [...code.matchAll(/\.listen\(([^)]{0,200})/g)].some(([, given = ""]) => !/^\s*\{\s*path:/.test(given));
}

describe("listeners on TCP", () => {
  const sources = filesUnder("src", ".ts").filter((path) => !/\.test\.ts$|\/testing\//.test(path));

  it("are all opened where their ports are marked", () => {
    expect(sources.filter((path) => listensOnPorts(readFileSync(path, "utf8")))).toEqual([MARKED]);
  });

  it("would be seen", () => {
    expect(listensOnPorts("server.listen(8080)")).toBe(true);
    expect(listensOnPorts("server.listen({ host, port }, resolve)")).toBe(true);
    expect(listensOnPorts("server.listen({ path: fresh }, resolve)")).toBe(false);
  });
});
