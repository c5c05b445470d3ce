import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { MissedPaths } from "./missed-paths.js";

const files = [
  { path: ".env", reason: "environment file" },
  { path: "certs/test.pem", reason: "private key" },
  { path: "lib/id_generator.py", reason: "fs.deny" },
  { path: "a b/it's.key", reason: "private key" },
];
const hidden = { count: files.length, tracked: 0, files };

function remarksFor(...chunks: readonly string[]): readonly string[] {
  const missed = new MissedPaths(hidden);
  const sink = missed.watch({ write: (_, done) => done(), end: () => {} });
  for (const chunk of chunks) sink.write(Buffer.from(chunk), () => {});
  return missed.remarks;
}

describe("a file that is said not to be there", () => {
  it.each([
    "cat: .env: No such file or directory\n",
    "Error: ENOENT: no such file or directory, open '/workspace/.env'\n",
    "FileNotFoundError: [Errno 2] No such file or directory: '.env'\n",
    "open .env: no such file or directory",
  ])("is explained where it is hidden: %s", (text) => {
    expect(remarksFor(text)).toEqual([
      ".env is there, but hidden from the sandbox (environment file); to show it: --show .env",
    ]);
  });

  it("is found by the name of a module, and in words that a shell takes as one", () => {
    expect(remarksFor("ModuleNotFoundError: No module named 'lib.id_generator'\n")).toEqual([
      "lib/id_generator.py is there, but hidden from the sandbox (fs.deny); to show it: --show lib/id_generator.py",
    ]);
    expect(remarksFor("cp: cannot stat 'a b/it's.key'")[0]).toContain("--show 'a b/it'\\''s.key'");
  });

  it("is found where the text comes in pieces, and told once", () => {
    const text = "cat: certs/test.pem: No such file or directory\n".repeat(2);
    expect(remarksFor(...text.split(""))).toHaveLength(1);
  });

  it.each([
    "cat: .env.example: No such file or directory\n",
    "cat: my.env: No such file or directory\n",
    "reading .env\ncat: other: No such file or directory\n",
    "wrote .env\n",
  ])("no other line is: %s", (text) => {
    expect(remarksFor(text)).toEqual([]);
  });
});
