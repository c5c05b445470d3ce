/** The descriptor of one setting that is a number. */
import type { Quantity, Range } from "./quantity.js";

/** How a policy file spells a setting: its own key, and maybe its own meaning of the number. */
export interface PolicyFileKey {
  /** `proc.mem_limit`: a key of one of the tables `proc`, `net` and `fs.tmp`. */
  readonly path: string;
  /** `text` has a unit, such as `512m`; `number` has none. */
  readonly form: "text" | "number";
  readonly help: string;
  /** Where the file's number means something else: its least value, and what the policy gets for it. */
  readonly least?: number;
  readonly toValue?: (written: number) => number;
}

/**
 * Everything that a surface needs to know of one numeric setting. Lower is narrower; null, where a setting allows it,
 * means no limit and is the widest. Of several layers the highest replaces the ones below it, within all ceilings.
 */
export interface NumericDescription {
  readonly quantity: Quantity;
  readonly min: number;
  readonly max: number;
  readonly default: number | null;
  /** `run --memory`; none where the command line cannot set it. */
  readonly flag?: string;
  /** The key in `[resources]` and `[limits]`, in the ceiling of an API key, and in JSON. */
  readonly key?: string;
  /** Where a JSON request has it; `resources.KEY` unless said otherwise. */
  readonly jsonPath?: string;
  readonly policyFile?: PolicyFileKey;
  /** The ceiling of an API key that states none. A setting with a flag and a key has one. */
  readonly keyCeiling?: number;
  /** A noun phrase, as in the middle of a sentence. */
  readonly help: string;
  readonly example: string;
  /** Follows the value in summaries: `2` `cores`. */
  readonly summary: string;
  /** What a backend's `lacks` calls it (docs/backends.md); none where no backend can lack it. */
  readonly capability?: string;
}

/** What the command line, files, JSON and the ceilings of keys can set. */
export interface SettableNumber extends NumericDescription {
  readonly flag: string;
  readonly key: string;
  readonly keyCeiling: number;
}

/** Keeps the literal types of the descriptor, which the types of requests and policies are made from. */
export function numeric<const S extends NumericDescription>(setting: S): S {
  return setting;
}

export function rangeOf({ quantity, min, max, example }: NumericDescription): Range {
  const { whole, format } = quantity;
  return { min, max, whole, text: `${format(min)} to ${format(max)}`, example };
}

export function isSettable(setting: NumericDescription): setting is SettableNumber {
  return setting.flag !== undefined && setting.key !== undefined && setting.keyCeiling !== undefined;
}

/** For the command line: `memory, for example 512m or 1.5g (1g)`. */
export function optionHelp({ quantity, help, example, default: usual }: NumericDescription): string {
  const shownExample = quantity.unit === null ? "" : `, for example ${example}`;
  return `${help}${shownExample}${usual === null ? "" : ` (${quantity.format(usual)})`}`;
}

/** For files and JSON, where a value is a bare number: `Memory, in MiB (1024).` */
export function keyHelp({ quantity, help, default: usual }: NumericDescription): string {
  const unit = quantity.unit === null ? "" : `, in ${quantity.unit}`;
  return `${help[0]?.toUpperCase()}${help.slice(1)}${unit}${usual === null ? "" : ` (${usual})`}.`;
}

/** For summaries: `1g of memory`. */
export function summaryOf({ quantity, summary }: NumericDescription, value: number): string {
  return `${quantity.format(value)} ${summary}`;
}
