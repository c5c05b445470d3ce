import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { versionPlaces, writeVersion, writtenVersions } from "../../scripts/release/version-places.mjs";

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };

describe("the version", () => {
  it("is one for every package, SDK, plugin and description", () => {
    const others = writtenVersions(".").filter((written) => written.version !== version);
    expect(others).toEqual([]);
  });

  it("is in the changelog", () => {
    expect(readFileSync("CHANGELOG.md", "utf8")).toMatch(new RegExp(`^## ${version.replaceAll(".", "\\.")}\\b`, "m"));
  });

  it("is changed everywhere by one command, and nothing else is", () => {
    const copy = mkdtempSync(join(tmpdir(), "agentkernel-version-"));
    try {
      for (const { file } of versionPlaces) cpSync(file, join(copy, file), { recursive: true });
      writeVersion(copy, "98.7.6");
      const written = writtenVersions(copy);
      expect(written).toHaveLength(writtenVersions(".").length);
      expect(new Set(written.map((entry) => entry.version))).toEqual(new Set(["98.7.6"]));
      for (const { file } of versionPlaces) {
        const text = readFileSync(join(copy, file), "utf8");
        expect(text.replaceAll("98.7.6", version)).toBe(readFileSync(file, "utf8"));
      }
    } finally {
      rmSync(copy, { recursive: true });
    }
  });
});
