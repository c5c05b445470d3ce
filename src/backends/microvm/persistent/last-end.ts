/**
 * How a machine that stays last ended, for whoever asks later. Its supervisor writes that down; what was carried over then
 * is known only when another machine was asked for it, whose own end is nobody's business.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { CarryReport, LastEnd } from "../../../core/backend.js";
import { readJson, writeJson } from "../../entry/state-file.js";
import { carryReport, isFields } from "../../linux/jail-events.js";
import { readLastEnd } from "../../linux/persistent/last-end.js";
import { machineEnd } from "../machine-report.js";
import { memoryMib } from "../shape.js";
import { readRecord } from "./record.js";

/** The supervisor's. */
const END = "end.json";
/** Ours: what else is known of the end at just this time. */
const NOTES = "end-notes.json";

interface EndNotes {
  readonly carried?: CarryReport;
  /** Why it was killed. */
  readonly said?: string;
}

export async function lastEndOf(stateDir: string): Promise<LastEnd | null> {
  const last = await readLastEnd(stateDir);
  const record = readRecord(stateDir);
  if (last === null || record === null) return last;
  const end = machineEnd(last.end, { memoryMib: memoryMib(record.resources) });
  return { ...last, end: { ...end, ...notesAt(stateDir, last.atMs) } };
}

/** Of the end that is written down. */
export async function noteOfEnd(stateDir: string, notes: EndNotes): Promise<void> {
  const last = await readLastEnd(stateDir);
  if (last !== null) writeJson(stateDir, NOTES, { atMs: last.atMs, ...notesAt(stateDir, last.atMs), ...notes });
}

/** The end that is written down is the same afterwards. */
export async function keepingLastEnd<T>(stateDir: string, ask: () => Promise<T>): Promise<T> {
  const before = readJson(stateDir, END);
  try {
    return await ask();
  } finally {
    if (isFields(before)) writeJson(stateDir, END, before);
    else rmSync(join(stateDir, END), { force: true });
  }
}

function notesAt(stateDir: string, atMs: number): EndNotes {
  const noted = readJson(stateDir, NOTES);
  if (!isFields(noted) || noted.atMs !== atMs) return {};
  const { carried, said } = noted;
  return {
    ...(isFields(carried) ? { carried: carryReport(carried) } : {}),
    ...(typeof said === "string" ? { said } : {}),
  };
}
