/** Sizes, counts and durations as text, held to the ranges of src/settings. */
import { AgentKernelError } from "../core/errors.js";
import { byPath, type NumericPath, numericSettings } from "../settings/index.js";
import { rangeOf } from "../settings/numeric-setting.js";
import {
  count,
  inRange,
  LIFE_MS_PER,
  mebibytes,
  milliseconds,
  type Quantity,
  type Range,
  sumOfParts,
} from "../settings/quantity.js";

export { inRange, type Range } from "../settings/quantity.js";

export const ranges: Readonly<Record<NumericPath, Range>> = byPath(({ setting }) => rangeOf(setting));

/** The value of a setting from its text form: `512m`, `2`, `1h30m`. */
export function parseSetting(field: string, text: string, path: NumericPath): number {
  return parseQuantity(field, text, numericSettings[path].quantity, ranges[path]);
}

/** As `parseSetting`, for people at a command line: a bare number of a duration is seconds. */
export function parseTypedSetting(field: string, text: string, path: NumericPath): number {
  return numericSettings[path].quantity === milliseconds
    ? parseTypedDurationMs(field, text)
    : parseSetting(field, text, path);
}

/** In MiB. */
export function parseSizeMiB(field: string, text: string, range: Range): number {
  return parseQuantity(field, text, mebibytes, range);
}

export function parseCount(field: string, text: string, range: Range): number {
  return parseQuantity(field, text, count, range);
}

const timeoutRange = ranges["resources.timeoutMs"];

/** `1500ms`, `30s`, `10m`, `1h30m`, in milliseconds. */
export function parseDurationMs(field: string, text: string): number {
  return parseQuantity(field, text, milliseconds, timeoutRange);
}

/** As people type it: a bare number is seconds, as everywhere on a command line. */
export function parseTypedDurationMs(field: string, text: string): number {
  if (!/^\d{1,10}(\.\d{1,3})?$/.test(text)) return parseDurationMs(field, text);
  return checked(field, text, Math.round(Number(text) * 1000), timeoutRange);
}

/** Of things that stay: as a duration, and also in days, `7d`. */
export function parseLifeMs(field: string, text: string): number {
  const timeMs = sumOfParts(text, LIFE_MS_PER);
  if (timeMs === null) throw refused(field, text, "is not a number with the unit ms, s, m, h or d", lifeRange);
  return checked(field, text, timeMs, lifeRange);
}

const lifeRange: Range = {
  min: 1,
  max: 3650 * LIFE_MS_PER.d,
  whole: true,
  text: "1ms to 3650d",
  example: "30m, 8h or 7d",
};

function parseQuantity(field: string, text: string, quantity: Quantity, range: Range): number {
  const parsed = quantity.parse(text);
  if ("reason" in parsed) throw refused(field, text, parsed.reason, range);
  const { value } = parsed;
  if (value < range.min || value > range.max) throw outOfRange(field, text, range);
  return quantity.whole ? Math.ceil(value) : value;
}

function checked(field: string, text: string, value: number, range: Range): number {
  if (!inRange(value, range)) throw outOfRange(field, text, range);
  return value;
}

function outOfRange(field: string, text: string, range: Range): AgentKernelError {
  return refused(field, text, `is not within ${range.text}`, range);
}

function refused(field: string, value: string, reason: string, range: Range): AgentKernelError {
  return new AgentKernelError("invalid_argument", `${field}: "${value}" ${reason}`, {
    hint: `${field} takes ${range.text}, for example ${range.example}`,
    details: { field, value, reason },
  });
}
