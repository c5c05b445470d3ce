import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { query } from "../audit/query.js";
import { verify } from "../audit/verify.js";
import { resolve } from "../policy/resolve.js";
import { openRunAudit } from "./run-audit.js";
import { SharedAudit } from "./shared-audit.js";

let base: string;
let folder: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "agentkernel-run-audit-"));
  folder = join(base, "audit");
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const { policy } = resolve({});
/** Longer than any test: what is written was not written because time was up. */
const FOR_EVER_MS = 600_000;

function opened(id: string, audit: SharedAudit, setting = "on") {
  const request = { audit: { path: folder }, hostEnv: { AGENTKERNEL_AUDIT: setting }, policy };
  return openRunAudit(id, request, { env: {}, homeDir: base }, { audit, what: "run" });
}

async function recorded(): Promise<readonly (readonly [string, unknown])[]> {
  const { records } = await query(folder, {}, 100);
  const ofRuns = records.filter(({ type }) => !type.startsWith("audit."));
  return ofRuns.map(({ type, fields }) => [type, fields.sandbox] as const);
}

test("what runs record is written together, once the log has shown that it takes it", async () => {
  const shared = new SharedAudit(FOR_EVER_MS);
  const one = opened("run-1", shared);
  one.records.ready([]);
  expect(one.isTaking).toBe(false);
  one.writeSoon();
  expect(one.isTaking).toBe(false);
  await one.settle();
  expect(one.isTaking).toBe(true);
  one.records.ended(null);
  const settled = one.settleLater();
  const two = opened("run-2", shared);
  two.records.ready([]);
  two.writeSoon();
  expect(two.isTaking).toBe(true);
  await new Promise((resolve) => setImmediate(resolve));
  expect(await recorded()).toEqual([["sandbox.ready", "run-1"]]);
  shared.writeSoon();
  expect(await settled).toEqual([]);
  expect(await recorded()).toEqual([
    ["sandbox.ready", "run-1"],
    ["sandbox.end", "run-1"],
    ["sandbox.ready", "run-2"],
  ]);
  expect((await verify(folder)).problems).toEqual([]);
});

test("after a log that failed, the next waits until it has taken its records", async () => {
  const shared = new SharedAudit(FOR_EVER_MS);
  const one = opened("run-1", shared);
  one.records.ready([]);
  await one.settle();
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "in the way");
  const two = opened("run-2", shared);
  two.records.ready([]);
  two.writeSoon();
  expect(two.isTaking).toBe(true);
  expect((await two.settle())[0]).toContain("could not be written");
  const three = opened("run-3", shared);
  three.records.ready([]);
  expect(three.isTaking).toBe(false);
  rmSync(folder);
  three.writeSoon();
  await three.settle();
  expect(three.isTaking).toBe(true);
  expect(await recorded()).toEqual([
    ["sandbox.ready", "run-2"],
    ["sandbox.ready", "run-3"],
  ]);
});

test("whoever reads the log next has what still waits written", async () => {
  const shared = new SharedAudit(FOR_EVER_MS);
  const run = opened("run-1", shared);
  run.records.ended(null);
  const settled = run.settleLater();
  shared.writeSoon();
  expect(await settled).toEqual([]);
  expect(await recorded()).toEqual([["sandbox.end", "run-1"]]);
});

test("the end of the last run is not left waiting for another", async () => {
  const run = opened("run-1", new SharedAudit(1));
  run.records.ended(null);
  expect(await run.settleLater()).toEqual([]);
  expect(await recorded()).toEqual([["sandbox.end", "run-1"]]);
});

test("a log that cannot be written is told to each, and what waited is in it once it can", async () => {
  const shared = new SharedAudit(FOR_EVER_MS);
  writeFileSync(folder, "in the way");
  const one = opened("run-1", shared);
  one.records.ready([]);
  one.writeSoon();
  expect((await one.settle())[0]).toContain("could not be written");
  expect(one.isTaking).toBe(false);
  rmSync(folder);
  const two = opened("run-2", shared);
  two.records.ready([]);
  two.writeSoon();
  expect(await two.settle()).toEqual([]);
  expect(await recorded()).toEqual([
    ["sandbox.ready", "run-1"],
    ["sandbox.ready", "run-2"],
  ]);
});

test("a run that requires the log waits for its own records, and fails by nobody else's", async () => {
  const shared = new SharedAudit(FOR_EVER_MS);
  const other = opened("run-1", shared);
  other.records.ready([]);
  const run = opened("run-2", shared, "required");
  run.records.ready([]);
  await run.insist();
  expect(await recorded()).toEqual([["sandbox.ready", "run-2"]]);
  run.records.ended(null);
  await run.settleLater();
  expect(await recorded()).toEqual([
    ["sandbox.ready", "run-2"],
    ["sandbox.end", "run-2"],
  ]);
});
