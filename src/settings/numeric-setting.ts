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

/** What defaults depend on. */
export interface MachineSize {
  readonly memoryMiB: number;
}

interface MachineShare {
  readonly of: keyof MachineSize;
  readonly share: number;
  /** The share is rounded down to a multiple of this. */
  readonly step: number;
  /** For people: `half of the machine's`. */
  readonly text: string;
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
  /** The default is a share of what the machine has, where that is more than `default`, and never more than all of it. */
  readonly machineShare?: MachineShare;
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

/** The default on one machine. */
export function defaultOn({ default: least, machineShare }: NumericDescription, machine: MachineSize): number | null {
  if (least === null || machineShare === undefined) return least;
  const { of, share, step } = machineShare;
  return Math.min(machine[of], Math.max(least, Math.floor((machine[of] * share) / step) * step));
}

/** The default for people: `512`, or `half of the machine's, at least 2g`. */
export function defaultText(
  { default: least, machineShare }: NumericDescription,
  format: (value: number) => string = String,
): string {
  if (least === null) return "none";
  return machineShare === undefined ? format(least) : `${machineShare.text}, at least ${format(least)}`;
}

/** For the command line: `processes at once, for example 512 (4096)`. */
export function optionHelp(setting: NumericDescription): string {
  const { quantity, help, example } = setting;
  const shownExample = quantity.unit === null ? "" : `, for example ${example}`;
  return `${help}${shownExample}${setting.default === null ? "" : ` (${defaultText(setting, quantity.format)})`}`;
}

/** For files and JSON, where a value is a bare number: `What may be written, in MiB (4096).` */
export function keyHelp(setting: NumericDescription): string {
  const { quantity, help } = setting;
  const unit = quantity.unit === null ? "" : `, in ${quantity.unit}`;
  const usual = setting.default === null ? "" : ` (${defaultText(setting)})`;
  return `${help[0]?.toUpperCase()}${help.slice(1)}${unit}${usual}.`;
}

/** For summaries: `1g of memory`. */
export function summaryOf({ quantity, summary }: NumericDescription, value: number): string {
  return `${quantity.format(value)} ${summary}`;
}
