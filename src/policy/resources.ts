/** Sizes, counts and durations: how they are written, and the ranges that every input is held to. */
import { AgentKernelError } from "../core/errors.js";

export interface Range {
  readonly min: number;
  readonly max: number;
  readonly whole: boolean;
  /** How the range and a value of it are written for people. */
  readonly text: string;
  readonly example: string;
}

const MIB_PER = { m: 1, g: 1024, t: 1024 * 1024 } as const;
const MS_PER = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/** Timers of the runtime hold at most 2^31 - 1 ms. */
const MAX_TIMEOUT_MS = 576 * MS_PER.h;

export const ranges = {
  vcpus: { min: 0.1, max: 256, whole: false, text: "0.1 to 256", example: "1.5" },
  memoryMiB: { min: 16, max: MIB_PER.t, whole: true, text: "16m to 1t", example: "512m or 1.5g" },
  pids: { min: 1, max: 32_768, whole: true, text: "1 to 32768", example: "512" },
  diskMiB: { min: 1, max: 16 * MIB_PER.t, whole: true, text: "1m to 16t", example: "4g" },
  openFiles: { min: 64, max: 1_048_576, whole: true, text: "64 to 1048576", example: "4096" },
  tmpMiB: { min: 1, max: MIB_PER.t, whole: true, text: "1m to 1t", example: "256m" },
  outputMiB: { min: 1, max: 256, whole: true, text: "1m to 256m", example: "16m" },
  timeoutMs: { min: 1, max: MAX_TIMEOUT_MS, whole: true, text: "1ms to 576h", example: "30s" },
} as const satisfies Record<string, Range>;

export function inRange(value: number, range: Range): boolean {
  return value >= range.min && value <= range.max && (!range.whole || Number.isInteger(value));
}

/** `512m`, `1g`, `1.5g`, `1t` (also `mb`, `gib` and upper case), in MiB. A part of a MiB is rounded up. */
export function parseSizeMiB(field: string, text: string, range: Range): number {
  const match = /^(\d{1,9}(?:\.\d{1,6})?)([mgt])(?:i?b)?$/i.exec(text);
  const unit = match?.[2]?.toLowerCase();
  if (match?.[1] === undefined || (unit !== "m" && unit !== "g" && unit !== "t")) {
    throw refused(field, text, "is not a number with the unit m, g or t", range);
  }
  const sizeMiB = Number(match[1]) * MIB_PER[unit];
  if (sizeMiB < range.min || sizeMiB > range.max) throw refused(field, text, `is not within ${range.text}`, range);
  return Math.ceil(sizeMiB);
}

export function parseVcpus(field: string, text: string): number {
  if (!/^\d{1,4}(\.\d{1,4})?$/.test(text)) throw refused(field, text, "is not a number", ranges.vcpus);
  return checked(field, text, Number(text), ranges.vcpus);
}

export function parseCount(field: string, text: string, range: Range): number {
  if (!/^\d{1,9}$/.test(text)) throw refused(field, text, "is not a whole number", range);
  return checked(field, text, Number(text), range);
}

/** `1500ms`, `30s`, `10m`, `1h30m`, in milliseconds. */
export function parseDurationMs(field: string, text: string): number {
  const timeMs = sumOfParts(text, MS_PER);
  if (timeMs === null) throw refused(field, text, "is not a number with the unit ms, s, m or h", ranges.timeoutMs);
  return checked(field, text, timeMs, ranges.timeoutMs);
}

/** As people type it: a bare number is seconds, as everywhere on a command line. */
export function parseTypedDurationMs(field: string, text: string): number {
  if (!/^\d{1,10}(\.\d{1,3})?$/.test(text)) return parseDurationMs(field, text);
  return checked(field, text, Math.round(Number(text) * MS_PER.s), ranges.timeoutMs);
}

/** Of things that stay: as a duration, and also in days, `7d`. */
export function parseLifeMs(field: string, text: string): number {
  const timeMs = sumOfParts(text, LIFE_MS_PER);
  if (timeMs === null) throw refused(field, text, "is not a number with the unit ms, s, m, h or d", lifeRange);
  return checked(field, text, timeMs, lifeRange);
}

/** `1h30m`: each part has a unit smaller than the one before. Null where it is written otherwise. */
function sumOfParts(text: string, msPer: Readonly<Record<string, number>>): number | null {
  if (!/^(\d{1,10}(\.\d{1,3})?(ms|s|m|h|d))+$/.test(text)) return null;
  let sumMs = 0;
  let before = Number.POSITIVE_INFINITY;
  for (const [, amount, unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    const unitMs = Object.hasOwn(msPer, unit) ? msPer[unit] : undefined;
    if (unitMs === undefined || unitMs >= before) return null;
    before = unitMs;
    sumMs += Number(amount) * unitMs;
  }
  return Math.round(sumMs);
}

const LIFE_MS_PER = { ...MS_PER, d: 24 * MS_PER.h } as const;
const lifeRange: Range = {
  min: 1,
  max: 3650 * LIFE_MS_PER.d,
  whole: true,
  text: "1ms to 3650d",
  example: "30m, 8h or 7d",
};

function checked(field: string, text: string, value: number, range: Range): number {
  if (!inRange(value, range)) throw refused(field, text, `is not within ${range.text}`, range);
  return value;
}

function refused(field: string, text: string, reason: string, range: Range): AgentKernelError {
  return new AgentKernelError("invalid_argument", `${field}: "${text}" ${reason}`, {
    hint: `${field} takes ${range.text}, for example ${range.example}`,
    details: { field, value: text },
  });
}
