/** Numbers with a unit: how people write them, and which number each text stands for. */

/** `value` where the text is a number of this kind, else why it is not. Ranges are checked by the caller. */
type ParsedQuantity = { readonly value: number } | { readonly reason: string };

export interface Quantity {
  /** Only whole numbers of the unit exist. */
  readonly whole: boolean;
  /** Placeholder for the value in command-line help. */
  readonly placeholder: string;
  /** What a bare number means in a file or in JSON; null where numbers have no unit. */
  readonly unit: string | null;
  parse(text: string): ParsedQuantity;
  /** The shortest text that `parse` reads as this value. */
  format(value: number): string;
}

export interface Range {
  readonly min: number;
  readonly max: number;
  readonly whole: boolean;
  /** The range and one value of it, as people write them. */
  readonly text: string;
  readonly example: string;
}

export function inRange(value: number, { min, max, whole }: Pick<Range, "min" | "max" | "whole">): boolean {
  return value >= min && value <= max && (!whole || Number.isInteger(value));
}

const MIB_PER = { m: 1, g: 1024, t: 1024 * 1024 } as const;
const MS_PER = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;
export const LIFE_MS_PER = { ...MS_PER, d: 24 * MS_PER.h } as const;

export const cores: Quantity = {
  whole: false,
  placeholder: "N",
  unit: null,
  parse: (text) => (/^\d{1,4}(\.\d{1,4})?$/.test(text) ? { value: Number(text) } : { reason: "is not a number" }),
  format: String,
};

export const count: Quantity = {
  whole: true,
  placeholder: "N",
  unit: null,
  parse: (text) => (/^\d{1,9}$/.test(text) ? { value: Number(text) } : { reason: "is not a whole number" }),
  format: String,
};

/** `512m`, `1g`, `1.5g`, `1t` (also `mb`, `gib` and upper case). A part of a MiB is rounded up. */
export const mebibytes: Quantity = {
  whole: true,
  placeholder: "SIZE",
  unit: "MiB",
  parse: (text) => {
    const [, amount, suffix] = /^(\d{1,9}(?:\.\d{1,6})?)([mgt])(?:i?b)?$/i.exec(text) ?? [];
    const unit = suffix?.toLowerCase();
    if (amount === undefined || (unit !== "m" && unit !== "g" && unit !== "t")) {
      return { reason: "is not a number with the unit m, g or t" };
    }
    return { value: Number(amount) * MIB_PER[unit] };
  },
  format: (value) => withLargestUnit(value, MIB_PER),
};

/** `1500ms`, `30s`, `10m`, `1h30m`. */
export const milliseconds: Quantity = {
  whole: true,
  placeholder: "TIME",
  unit: "milliseconds",
  parse: (text) => {
    const value = sumOfParts(text, MS_PER);
    return value === null ? { reason: "is not a number with the unit ms, s, m or h" } : { value };
  },
  format: (value) => withLargestUnit(value, MS_PER),
};

/** `1h30m`: each part has a unit smaller than the one before. Null where it is written otherwise. */
export function sumOfParts(text: string, msPer: Readonly<Record<string, number>>): number | null {
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

function withLargestUnit(value: number, units: Readonly<Record<string, number>>): string {
  const fitting = Object.entries(units).filter(([, size]) => value % size === 0);
  const [unit, size] = fitting.at(-1) ?? ["", 1];
  return `${value / size}${unit}`;
}
