import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { compilerFolder, readableErrors } from "./compiler.js";

const name = `@typescript/typescript-${process.platform}-${process.arch}`;

describe("TypeScript's compiler", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "compiler-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const install = (place: string) => {
    const lib = join(folder, place, name, "lib");
    mkdirSync(lib, { recursive: true });
    writeFileSync(join(lib, "tsc"), "");
    return lib;
  };

  it("is the first that is found, and the checkout's own here", () => {
    const lib = install("b");
    expect(compilerFolder(undefined, [join(folder, "a"), join(folder, "b")])).toBe(lib);
    expect(compilerFolder(undefined)).toContain(`node_modules/${name}/lib`);
  });

  it("that is named has to be there", () => {
    expect(compilerFolder(install("c"))).toContain("/c/");
    expect(() => compilerFolder(join(folder, "none"))).toThrow("there is no tsc in it");
  });

  it("that is nowhere is an error with a next step", () => {
    expect(() => compilerFolder(undefined, [folder])).toThrow(
      expect.objectContaining({ code: "unsupported", hint: expect.stringContaining("npm install -g typescript@7") }),
    );
  });

  it("is quoted with the lines that it speaks of, and not at any length", () => {
    const said = `main.mts(2,3): error TS1: ${"long ".repeat(200)}\n${"main.mts(1,1): error TS2: no\n".repeat(30)}`;
    const lines = readableErrors(said, "first\n  second");
    expect(lines[0]).toMatch(/^line 2, column 3: error TS1: (long ){10}/);
    expect(lines[0]).toMatch(/\n {4}second$/);
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toBe("and 11 more lines");
  });
});
