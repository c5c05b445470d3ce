import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { copyCommands, heldRecord } from "./copied-commands.js";
import { notOver } from "./detached-exec.js";
import { type ExecRecord, ExecRecords } from "./exec-records.js";
import { logFiles } from "./log-format.js";

const folder = mkdtempSync(join(tmpdir(), "ak-commands-"));
afterAll(() => rmSync(folder, { recursive: true }));
const moment = (bootMs: number) => ({ wallMs: bootMs, bootMs, bootId: "b" });
const info = { id: "x1", argv: ["a"], cwd: "/", user: null, tty: false, detached: true, startedAtMs: 1, ...notOver };
const record: ExecRecord = { version: 1, info, timeoutMs: 10_000, started: moment(1000) };

describe("commands that go on in a copy", () => {
  it("have what was left of their time, however long the copy waits", () => {
    const held = heldRecord(record, moment(4000));
    expect(held).toMatchObject({ timeoutMs: 7000, isHeld: true });
    expect(heldRecord(held, moment(9_999_999))).toEqual(held);
    expect(heldRecord({ ...record, timeoutMs: null }, moment(4000)).timeoutMs).toBeNull();
    expect(heldRecord(record, moment(60_000)).timeoutMs).toBe(1);
  });

  it("are those that ran, with their output", async () => {
    const into = join(folder, "into");
    const records = new ExecRecords(folder);
    await records.write(record);
    await records.write({ ...record, info: { ...info, id: "x2", state: "ended" } });
    writeFileSync(logFiles(folder, "x1").newer, "output");
    await copyCommands(folder, into, moment(2000));
    const found = await new ExecRecords(into).all();
    expect(found.map((one) => [one.info.id, one.isHeld])).toEqual([["x1", true]]);
    expect(readdirSync(into)).toHaveLength(2);
    await copyCommands(join(folder, "none"), join(folder, "nothing"), moment(2000));
    expect(readdirSync(join(folder, "nothing"))).toEqual([]);
  });
});
