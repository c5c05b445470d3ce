import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

interface LockEntry {
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lock: { packages: Record<string, LockEntry> } = JSON.parse(readFileSync("package-lock.json", "utf8"));

it("the lock file names packages and hashes, not the registry they came from", () => {
  expect(Object.entries(lock.packages).filter(([, entry]) => entry.resolved !== undefined)).toEqual([]);
});

// Repaired by scripts/complete-lock.mjs, which also says how it comes about.
it("the lock file lists every platform's optional packages, without which npm ci refuses it", () => {
  const named = Object.values(lock.packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((name) => !(`node_modules/${name}` in lock.packages))).toEqual([]);
});
