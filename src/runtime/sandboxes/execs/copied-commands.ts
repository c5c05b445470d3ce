/**
 * Commands that go on in a copy of their sandbox, because its memory is in it: their records, and their output so far.
 * The guest that they are in stands still meanwhile, so what is on record is never ahead of it.
 */
import { copyFile, mkdir, stat } from "node:fs/promises";
import { elapsedMs, type Moment } from "../clock.js";
import { isCode } from "../folder.js";
import { type ExecRecord, ExecRecords } from "./exec-records.js";
import { logFiles } from "./log-format.js";

export async function copyCommands(from: string, into: string, now: Moment): Promise<void> {
  const running = (await recordsIn(from)).filter(({ info }) => info.state === "running");
  await mkdir(into, { recursive: true, mode: 0o700 });
  const records = new ExecRecords(into);
  for (const record of running) {
    await copyLog(logFiles(from, record.info.id), logFiles(into, record.info.id));
    await records.write(heldRecord(record, now));
  }
}

/** Its time limit goes on counting when it does. */
export function heldRecord(record: ExecRecord, now: Moment): ExecRecord {
  const { timeoutMs, started, isHeld = false } = record;
  const leftMs = timeoutMs === null || isHeld ? timeoutMs : Math.max(1, timeoutMs - elapsedMs(started, now));
  return { ...record, timeoutMs: leftMs, isHeld: true };
}

/** Terminals have a folder only where there was one, and an older record none. */
async function recordsIn(folder: string): Promise<readonly ExecRecord[]> {
  try {
    return await new ExecRecords(folder).all();
  } catch (error) {
    if (isCode(error, "ENOENT")) return [];
    throw error;
  }
}

/** Again where one file took the place of the other meanwhile. */
async function copyLog(from: ReturnType<typeof logFiles>, into: ReturnType<typeof logFiles>): Promise<void> {
  for (;;) {
    const before = await inode(from.newer);
    await copyIfThere(from.older, into.older);
    await copyIfThere(from.newer, into.newer);
    if ((await inode(from.newer)) === before) return;
  }
}

async function inode(path: string): Promise<number | null> {
  return (await stat(path).catch(() => null))?.ino ?? null;
}

async function copyIfThere(from: string, into: string): Promise<void> {
  await copyFile(from, into).catch((error: unknown) => {
    if (!isCode(error, "ENOENT")) throw error;
  });
}
