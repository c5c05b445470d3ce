import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Catalog } from "../servers/index.js";
import { ModuleCache } from "./index.js";
import { ModuleFiles } from "./module-files.js";

const catalog = (hash: string, name = "list_issues"): Catalog => ({
  server: "demo",
  module: "demo",
  hash,
  tools: [{ name, description: "Lists.", inputSchema: {}, outputSchema: undefined }],
});

describe("modules on disk", () => {
  let folder: string;
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), "modules-")), "made");
  });
  afterEach(() => rmSync(join(folder, ".."), { recursive: true }));
  const cache = () => new ModuleCache(new ModuleFiles(folder));
  const only = () => join(folder, readdirSync(folder)[0] ?? "none");

  it("are taken from there by the next who asks for the same state of the tools", () => {
    const made = cache().typescript(catalog("1"));
    const file = only();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const marked = readFileSync(file, "utf8").replaceAll("listIssues", "fromDisk");
    writeFileSync(file, marked);
    const found = cache().typescript(catalog("1"));
    expect(found.javascript).toBe(made.javascript.replace("listIssues", "fromDisk"));
    expect([...found.declarations.keys()]).toEqual(["list_issues"]);
    expect(cache().typescript(catalog("2")).javascript).toBe(made.javascript);
    expect(cache().python(catalog("1")).source).toContain("def list_issues(");
  });

  it.each(["", "{", "[]", '{"declarations":[["a"]],"declarationFile":"","javascript":""}', '{"declarations":[]}'])(
    "that are not as they were written are made again: %s",
    (text) => {
      const made = cache().typescript(catalog("1"));
      writeFileSync(only(), text);
      expect(cache().typescript(catalog("1"))).toEqual(made);
      expect(readFileSync(only(), "utf8")).toContain("listIssues");
    },
  );

  it("are not more than there is room for", () => {
    const files = new ModuleFiles(folder);
    for (let n = 0; n < 260; n++) files.write("typescript", catalog(String(n)), n);
    expect(readdirSync(folder).length).toBeLessThanOrEqual(200);
    expect(files.read("typescript", catalog("259"))).toBe(259);
    files.write("typescript", catalog("huge"), "x".repeat(5 << 20));
    expect(files.read("typescript", catalog("huge"))).toBeUndefined();
  });
});
