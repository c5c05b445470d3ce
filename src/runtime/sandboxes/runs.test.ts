import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PersistentEnding, PersistentSandbox } from "../../core/backend.js";
import { deferred } from "../../core/deferred.js";
import { encodeJson, FrameType } from "../../guest/frame.js";
import { connectedPair, READY } from "../../guest/testing/fake-guest.js";
import { resolve } from "../../policy/resolve.js";
import type { SandboxContext } from "./context.js";
import { notOver } from "./execs/detached-exec.js";
import { ExecRecords } from "./execs/exec-records.js";
import { SandboxFolder } from "./folder.js";
import { parseRecord, type SandboxRecord } from "./record.js";
import { RECORD_VERSION } from "./record-versions.js";
import { Sandbox } from "./sandbox.js";

const { policy: usual, origins } = resolve({});
const policy = { ...usual, net: { ...usual.net, egress: "off" as const } };
const moment = { wallMs: 1, bootMs: 1, bootId: "b" };
const record: SandboxRecord = {
  version: RECORD_VERSION,
  id: "copy.123456",
  name: "copy",
  owner: null,
  from: { kind: "sandbox", name: "box" },
  created: moment,
  hasRun: false,
  ttlMs: null,
  ttlFrom: moment,
  idleTimeoutMs: 1000,
  policy,
  policyVersion: 1,
  origins,
  image: { name: "host", why: "", digest: null, source: { kind: "host" }, defaults: null, stored: null },
  projectDir: null,
  homeDir: null,
  workdir: null,
  publish: [],
  audit: {},
  auditSetting: "off",
};
const soon = { timeout: 4000 };
const COMMAND = "x0000000a";
const TERMINAL = "t0000000a";
const bytes = { acked: 0, sent: 0 };
const stdin = { received: 0, ended: false };
const inMemory = [
  { key: COMMAND, pid: 7, program: "sleep", tty: false, stdin, stdout: bytes, stderr: bytes },
  { key: TERMINAL, pid: 8, program: "sh", tty: true, stdin, stdout: bytes, stderr: null },
];

let folder: SandboxFolder;
let atEnd: (() => unknown)[] = [];

beforeEach(async () => {
  folder = new SandboxFolder(mkdtempSync(join(tmpdir(), "ak-runs-")));
  atEnd = [() => rmSync(folder.path, { recursive: true })];
  for (const path of [folder.jail, folder.execs, folder.terminals]) mkdirSync(path);
  await folder.writeRecord(record);
  await putOnRecord(folder.execs, COMMAND);
  await putOnRecord(folder.terminals, TERMINAL);
});
afterEach(async () => {
  for (const work of atEnd.reverse()) await work();
});

async function putOnRecord(path: string, id: string): Promise<void> {
  const facts = { id, argv: ["a"], cwd: "/", user: null, tty: id === TERMINAL, detached: true, startedAtMs: 1 };
  await new ExecRecords(path).write({ info: { ...facts, ...notOver }, timeoutMs: null, started: moment, isHeld: true });
}

async function onRecord(path: string): Promise<readonly (readonly string[])[]> {
  return (await new ExecRecords(path).all()).map(({ info }) => [info.id, info.state]);
}

/** A machine whose guest has these commands. */
async function machine(execs: readonly object[]): Promise<PersistentSandbox> {
  const over = deferred<PersistentEnding>();
  const end = { reason: "stopped" } as never;
  const kill = async () => {
    over.resolve({ how: "ended", end });
    return end;
  };
  return {
    layers: [],
    startedAtMs: 1,
    over: over.promise,
    connect: async () => {
      const { hostEnd, guestEnd } = await connectedPair();
      guestEnd.on("error", () => {}).resume();
      guestEnd.write(encodeJson(FrameType.hello, 0, { ...READY, execs }));
      atEnd.push(() => guestEnd.destroy());
      return hostEnd;
    },
    status: () => Promise.reject(new Error("nobody asks")),
    pause: async () => {},
    resume: async () => {},
    stop: kill,
    kill,
    release: () => over.resolve({ how: "released" }),
  };
}

/** What the next daemon makes of the folder, where nothing runs; what it starts has `execs` in it. */
async function foundAgain(execs: readonly object[] = inMemory): Promise<Sandbox> {
  const kept = { adopt: async () => null, start: () => machine(execs) };
  const context = {
    backend: { name: "microvm", kept },
    kept,
    backendFor: async () => ({ name: "microvm", kept }),
    clock: { now: () => moment },
    env: {},
    homeDir: folder.path,
    tell: () => {},
    say: () => {},
    lookAtLives: () => {},
    knownSince: moment,
    forget: async () => {},
  } as unknown as SandboxContext;
  const sandbox = new Sandbox(parseRecord(await folder.readRecord(), "copy"), folder, context);
  await sandbox.adopt();
  atEnd.push(() => sandbox.release());
  return sandbox;
}

describe("a copy with memory that was not started before the daemon was", () => {
  it("has its commands on record as they were, however often", async () => {
    for (let daemons = 0; daemons < 2; daemons++) await foundAgain();
    expect(await onRecord(folder.execs)).toEqual([[COMMAND, "running"]]);
    expect(await onRecord(folder.terminals)).toEqual([[TERMINAL, "running"]]);
  });

  it("takes them up with its first start, and they keep it from being idle", async () => {
    const sandbox = await foundAgain();
    await sandbox.start();
    await vi.waitFor(() => expect(sandbox.runningExec(COMMAND)).not.toBeNull(), soon);
    const terminals = await sandbox.knownTerminals();
    expect(terminals.list()).toMatchObject([{ id: TERMINAL, argv: ["a"] }]);
    expect(sandbox.execs()).toMatchObject([{ id: COMMAND, state: "running" }]);
    expect(sandbox.idleLeftMs()).toBeNull();
  });

  it("has lost them where its memory was not in what was started", async () => {
    const sandbox = await foundAgain([]);
    await sandbox.start();
    await vi.waitFor(async () => expect(await onRecord(folder.execs)).toEqual([[COMMAND, "lost"]]), soon);
    await sandbox.knownTerminals();
    expect(await onRecord(folder.terminals)).toEqual([]);
  });
});

describe("a sandbox that has run and was found stopped", () => {
  it("has lost what is on record as running, also when it is started again", async () => {
    await folder.writeRecord({ ...record, hasRun: true });
    const sandbox = await foundAgain([]);
    expect(await onRecord(folder.execs)).toEqual([[COMMAND, "lost"]]);
    expect(await onRecord(folder.terminals)).toEqual([]);
    await sandbox.start();
    expect(sandbox.execs()).toMatchObject([{ id: COMMAND, state: "lost", error: "the sandbox has ended" }]);
  });
});
