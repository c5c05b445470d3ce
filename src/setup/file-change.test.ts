import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeChange, plannedRemoval, plannedWrite } from "./file-change.js";
import { lineDiff } from "./line-diff.js";
import { OWN_MARK } from "./systemd-unit.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentkernel-setup-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the change of a file", () => {
  it("is made once: a second time there is none", () => {
    const path = join(folder, "deep", "unit.service");
    const text = `# ${OWN_MARK}\n`;
    const change = plannedWrite(path, text);
    expect(change).toMatchObject({ kind: "create", before: null });
    expect(existsSync(path)).toBe(false);
    makeChange(change);
    expect(readdirSync(join(folder, "deep"))).toEqual(["unit.service"]);
    expect(plannedWrite(path, text).kind).toBe("none");
    expect(plannedWrite(path, `${text}more\n`).kind).toBe("replace");
    makeChange(plannedRemoval(path));
    expect(plannedRemoval(path).kind).toBe("none");
  });

  it("leaves alone what others wrote or linked", () => {
    const path = join(folder, "unit.service");
    writeFileSync(path, "[Service]\n");
    expect(() => plannedRemoval(path)).toThrow(/was not written by agentkernel setup/);
    const link = join(folder, "link.service");
    symlinkSync(path, link);
    expect(() => plannedWrite(link, "text")).toThrow(/is not a plain file/);
    expect(readFileSync(path, "utf8")).toBe("[Service]\n");
  });

  it("that cannot be made says why", () => {
    writeFileSync(join(folder, "file"), "");
    const change = plannedWrite(join(folder, "file", "unit.service"), "text");
    expect(() => makeChange(change)).toThrow(/cannot be written/);
  });
});

describe("a difference of lines", () => {
  it("shows what stays, goes and comes, in order", () => {
    expect(lineDiff("a\nb\nc\n", "a\nx\nc\nd\n")).toEqual([" a", "-b", "+x", " c", "+d"]);
    expect(lineDiff("", "a\n")).toEqual(["+a"]);
    expect(lineDiff("a\n", "")).toEqual(["-a"]);
  });
});
