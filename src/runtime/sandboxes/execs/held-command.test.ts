import { mkdtempSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FrameType } from "../../../guest/frame.js";
import { EXIT_0, FakeGuest, READY } from "../../../guest/testing/fake-guest.js";
import type { SandboxEventDetails } from "../events.js";
import { copyCommands } from "./copied-commands.js";
import { notOver } from "./detached-exec.js";
import { type ExecRecord, ExecRecords } from "./exec-records.js";
import { ExecTable } from "./exec-table.js";

const soon = { timeout: 4000 };
const LIMIT_MS = 600_000;
const info = { id: "x1", argv: ["a"], cwd: "/", user: null, tty: false, detached: true, startedAtMs: 1, ...notOver };
const bytes = { acked: 0, sent: 0 };
const kept = { key: "x1", pid: 7, program: "a", tty: false, stdin: null, stdout: bytes, stderr: bytes };
const moment = (bootMs: number) => ({ wallMs: bootMs, bootMs, bootId: "b" });

let folder: string;
let nowMs = 0;
let guests: FakeGuest[] = [];
let said: string[] = [];
let told: SandboxEventDetails[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "ak-held-"));
  nowMs = 1000;
  [guests, said, told] = [[], [], []];
  await new ExecRecords(folder).write({ info, timeoutMs: LIMIT_MS, started: moment(5), isHeld: true });
});
afterEach(() => {
  for (const guest of guests) guest.end();
  rmSync(folder, { recursive: true });
});

/** A daemon that takes up what runs. */
async function takenUp(): Promise<{ readonly table: ExecTable; readonly guest: FakeGuest }> {
  const guest = await FakeGuest.connect();
  guests.push(guest);
  guest.json(FrameType.hello, 0, { ...READY, execs: [kept] });
  const table = new ExecTable({
    records: new ExecRecords(folder),
    clock: { now: () => moment(nowMs) },
    tell: (details) => told.push(details),
    isOthers: () => false,
    say: (line) => said.push(line),
  });
  await table.load(guest.session);
  await vi.waitFor(() => expect(table.find("x1")).not.toBeNull(), soon);
  return { table, guest };
}

async function onRecord(path = folder): Promise<ExecRecord | undefined> {
  return (await new ExecRecords(path).all())[0];
}

async function goesOnFrom(bootMs: number): Promise<void> {
  const expected = { version: 1, info, timeoutMs: LIMIT_MS, started: moment(bootMs) };
  await vi.waitFor(async () => expect(await onRecord()).toEqual(expected), soon);
}

describe("a command that goes on in a copy", () => {
  it("counts its time from there, whichever process takes it up later", async () => {
    const limits = vi.spyOn(globalThis, "setTimeout");
    try {
      const first = await takenUp();
      await goesOnFrom(1000);
      first.table.release();
      first.guest.end();
      nowMs += 400_000;
      await takenUp();
      await goesOnFrom(1000);
      const set = limits.mock.calls.map(([, ms]) => ms);
      expect(set).toContain(LIMIT_MS);
      expect(set).toContain(LIMIT_MS - 400_000);
    } finally {
      limits.mockRestore();
    }
  });

  it("has only the rest of its time in a copy of the copy", async () => {
    await takenUp();
    await goesOnFrom(1000);
    const into = join(folder, "again");
    await copyCommands(folder, into, moment(301_000));
    expect(await onRecord(into)).toMatchObject({ timeoutMs: LIMIT_MS - 300_000, isHeld: true });
  });

  it("is on record as over where it ends at once", async () => {
    const { guest } = await takenUp();
    guest.json(FrameType.opened, 1, { pid: 7 }).eof(1, 1).eof(1, 2).json(FrameType.exit, 1, EXIT_0);
    await vi.waitFor(async () => expect(await onRecord()).toMatchObject({ info: { state: "ended", code: 0 } }), soon);
    expect((await onRecord())?.isHeld).toBeUndefined();
  });

  it("goes on also where that cannot be written down", async () => {
    // In the way of the file that would become the record.
    await mkdir(join(folder, "x1.json.new"));
    const { table } = await takenUp();
    await vi.waitFor(
      () => expect(said).toEqual([expect.stringContaining("x1 goes on could not be written down")]),
      soon,
    );
    expect(table.list()).toMatchObject([{ id: "x1", state: "running" }]);
    expect(told).toEqual([]);
  });
});
