import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entryName, npmTool } from "./npm-tool.mjs";

const description = join(import.meta.dirname, "docs-site");

describe("a program from npm in the user's cache", () => {
  let cache: string;

  beforeEach(() => {
    cache = mkdtempSync(join(tmpdir(), "agentkernel-npm-tool-"));
  });

  afterEach(() => rmSync(cache, { recursive: true, force: true }));

  it("is not taken from a directory that Others can write to", () => {
    chmodSync(cache, 0o775);
    expect(() => npmTool(description, cache)).toThrow(`Others can write to ${cache}`);
  });

  it("stays while it is used, and what nobody has used for a month goes", () => {
    const used = entryName(description);
    for (const name of [used, "another", ".new-killed"]) mkdirSync(join(cache, name));
    const longAgo = new Date(Date.now() - 40 * 24 * 3_600_000);
    for (const name of [used, ".new-killed"]) utimesSync(join(cache, name), longAgo, longAgo);
    expect(npmTool(description, cache)).toBe(join(cache, used));
    expect(readdirSync(cache).sort()).toEqual([used, "another"].sort());
  });
});
