import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { resolve } from "../policy/resolve.js";
import type { AuditedDecision } from "./events.js";
import { follow } from "./follow.js";
import { policyDigest } from "./prepare.js";
import { query } from "./query.js";
import { asRecord } from "./reader.js";
import { SandboxAudit, secretsIn } from "./sandbox-audit.js";
import { summary } from "./summary.js";
import { AuditTrail } from "./trail.js";
import { verify } from "./verify.js";

let base: string;
let folder: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "agentkernel-trail-"));
  folder = join(base, "audit");
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const decision: AuditedDecision = {
  phase: "decided",
  via: "capture",
  asked: "example.com",
  port: 443,
  verdict: "denied",
  rule: "not on the allowlist",
  addresses: [],
  dialled: null,
  seen: null,
  bytesIn: 0,
  bytesOut: 0,
};
const { policy } = resolve({ flags: [{ origin: "test", fields: { "proc.env": { TOKEN: "in-the-policy" } } }] });
const exit = { code: 3, signal: null, usage: { userUs: 0, systemUs: 0, maxRssKiB: 0 } };
const end = { code: 0, signal: null, oomKills: 1, pidsDenied: 2, memoryPeakBytes: 1, cpuUs: 1, carried: null };
const written = () =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("");

describe("the life of a sandbox", () => {
  test("is on record, in order, with every kind of event told in one line", async () => {
    const trail = new AuditTrail({ folder });
    const audit = new SandboxAudit(trail, "run-1", []);
    audit.starting({ backend: "linux", image: { name: "host", digest: null }, policy, project: "/p" });
    audit.ready([{ name: "seccomp", state: "absent", detail: "why" }]);
    const ended = audit.execStarting({ argv: ["npm", "run", "a b"], cwd: "/w", env: { A: "1" }, stdin: false });
    audit.egress(decision);
    audit.file({ operation: "read", path: "/etc/x", bytes: 5, verdict: "denied", reason: "leads out" });
    audit.approval({ asked: "a.example", port: 80, verdict: "allowed", answer: "once", by: "terminal" });
    audit.policyChanged(policy, "user", "allow a.example");
    ended({ exit, timedOut: true });
    audit.ended(end);
    new SandboxAudit(trail, "run-2", []).failed(new Error("no room"));
    await trail.flush();
    const { records } = await query(folder, {}, 100);
    expect(records.map(({ type }) => type)).toEqual([
      "audit.file",
      "sandbox.start",
      "sandbox.ready",
      "exec.start",
      "egress",
      "file",
      "approval",
      "policy.change",
      "exec.end",
      "sandbox.end",
      "sandbox.failed",
    ]);
    const digest = policyDigest(policy);
    expect(records[1]?.fields).toMatchObject({
      backend: "linux",
      image: { name: "host", digest: null },
      policy: { digest },
    });
    expect(records[9]?.fields).toMatchObject({ limits: ["memory", "pids", "timeout"] });
    const told = records.map(summary).join("\n");
    for (const part of [
      "seccomp absent",
      "npm run 'a b'",
      "denied: example.com:443",
      "denied: read /etc/x",
      "timed out",
    ]) {
      expect(told).toContain(part);
    }
    expect(await verify(folder)).toMatchObject({ isWhole: true });
    expect((await query(folder, { deniedOnly: true }, 100)).records).toHaveLength(2);
    expect((await query(folder, { types: ["exec"], sandbox: "run-1" }, 100)).records).toHaveLength(2);
    expect((await query(folder, { sandbox: "run-2" }, 100)).records).toHaveLength(1);
    expect((await query(folder, { sinceMs: Date.now() + 1000 }, 100)).records).toEqual([]);
    expect((await query(folder, { untilMs: Date.now() + 1000 }, 3)).records.map(({ seq }) => seq)).toEqual([9, 10, 11]);
  });

  // THREATS A6
  test("is recorded without secrets, whichever way they come in", async () => {
    const trail = new AuditTrail({ folder });
    const audit = new SandboxAudit(trail, "run-1", ["given-outright", ...secretsIn([{ MY_TOKEN: "from-the-env1" }])]);
    audit.starting({ backend: "linux", image: { name: "host", digest: null }, policy, project: "/p/from-the-env1" });
    const ended = audit.execStarting({
      argv: ["x", "from-the-env1", "--password", "pw-in-argv"],
      cwd: "/given-outright",
      env: { OTHER_KEY: "never-named" },
      stdin: false,
    });
    ended({ error: new Error("cannot reach https://me:pw-in-url@x.example and given-outright") });
    audit.egress({ ...decision, asked: "from-the-env1.evil.example", seen: "given-outright.evil.example" });
    audit.failed(new Error("TOKEN=pw-in-error"));
    await trail.flush();
    const log = written();
    expect(log).toContain("OTHER_KEY");
    for (const secret of ["from-the-env1", "given-outright", "pw-in", "in-the-policy", "never-named"]) {
      expect(log).not.toContain(secret);
    }
  });

  test("takes bounded room, whatever a command looks like", async () => {
    const trail = new AuditTrail({ folder });
    const audit = new SandboxAudit(trail, "run-1", []);
    audit.execStarting({ argv: Array.from({ length: 5000 }, () => "x".repeat(5000)), cwd: "/", env: {}, stdin: false });
    await trail.flush();
    expect(written().length).toBeLessThan(64 * 1024);
    expect(await verify(folder)).toMatchObject({ isWhole: true });
  });
});

describe("a log that cannot be written", () => {
  test("is told to whoever waits for it, and what waited is written once it can be", async () => {
    writeFileSync(folder, "in the way");
    const trail = new AuditTrail({ folder });
    new SandboxAudit(trail, "run-1", []).egress(decision);
    await expect(trail.flush()).rejects.toMatchObject({
      code: "audit_unwritable",
      hint: expect.stringContaining(folder),
    });
    rmSync(folder);
    await trail.flush();
    expect((await query(folder, {}, 10)).records).toHaveLength(2);
  });
});

test("those who wait in the log's own time are told when theirs is written, and when it cannot be", async () => {
  const trail = new AuditTrail({ folder });
  await trail.written();
  const audit = new SandboxAudit(trail, "run-1", []);
  audit.ready([]);
  const first = trail.written();
  audit.ready([]);
  await Promise.all([first, trail.written()]);
  // Together: one turn at writing, after which the log's own first line and both records are there.
  expect((await query(folder, {}, 10)).records).toHaveLength(3);
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "in the way");
  audit.ready([]);
  await expect(trail.written()).rejects.toMatchObject({ code: "audit_unwritable" });
  // Nothing is under way that could change it.
  await expect(trail.written()).rejects.toMatchObject({ code: "audit_unwritable" });
  rmSync(folder);
  audit.ready([]);
  await trail.written();
  expect((await query(folder, { types: ["sandbox"] }, 10)).records).toHaveLength(2);
});

test("who follows sees every record once, across files and half lines, without asking twice", async () => {
  const trail = new AuditTrail({ folder, maxFileBytes: 700 });
  const audit = new SandboxAudit(trail, "run-1", []);
  audit.egress({ ...decision, port: 1 });
  await trail.flush();
  const abort = new AbortController();
  const ports: unknown[] = [];
  let seen: () => void = () => {};
  const following = (async () => {
    for await (const { type, fields } of follow(folder, abort.signal, 0)) {
      if (type === "egress") ports.push(fields.port);
      seen();
    }
  })();
  for (let port = 2; port <= 12; port++) {
    const arrived = new Promise<void>((resolve) => {
      seen = () => ports.includes(port) && resolve();
    });
    audit.egress({ ...decision, port });
    await trail.flush();
    await arrived;
  }
  abort.abort();
  await following;
  expect(ports).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  expect((await verify(folder)).files).toBeGreaterThan(3);
});

test("a log has taken an event once it is in the file, and counts as taking none after it failed", async () => {
  const trail = new AuditTrail({ folder });
  const audit = new SandboxAudit(trail, "run-1", []);
  audit.ready([]);
  expect(trail.recorded).toBe(1);
  expect(trail.hasTaken(1)).toBe(false);
  await trail.flush();
  expect(trail.hasTaken(1)).toBe(true);
  audit.ready([]);
  // What came later is no reason to wait for it.
  expect(trail.hasTaken(1)).toBe(true);
  expect(trail.hasTaken(2)).toBe(false);
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "in the way");
  audit.ready([]);
  await expect(trail.flush()).rejects.toMatchObject({ code: "audit_unwritable" });
  expect(trail.hasTaken(1)).toBe(false);
});

test("what is no record is not taken for one", () => {
  for (const text of ["", "{", "[]", "null", '{"seq":"1"}', '{"seq":1,"time":1,"type":"x"}']) {
    expect(asRecord(text)).toBeNull();
  }
});
