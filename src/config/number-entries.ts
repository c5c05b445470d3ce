/** The numeric settings of src/settings as keys of configuration and policy files. */
import { parseSetting, ranges } from "../policy/resources.js";
import {
  type NamedNumber,
  type NumberKey,
  numbers,
  type PolicyFileNumber,
  settableNumbers,
} from "../settings/index.js";
import { keyHelp, type PolicyFileKey } from "../settings/numeric-setting.js";
import { mebibytes } from "../settings/quantity.js";
import { number, parsedText, type Shape } from "./shapes.js";
import type { Entry } from "./table-shape.js";

type NumberEntries<K extends string> = Readonly<Record<K, Entry<number>>>;

/** Keys of `[resources]` and `[limits]`. */
export const numberEntries = Object.fromEntries(
  settableNumbers.map(({ path, setting }) => [setting.key, { shape: number(ranges[path]), help: keyHelp(setting) }]),
) as NumberEntries<NumberKey>;

/** A numeric setting that policy files have a key for. */
interface PolicyFileSetting extends NamedNumber {
  readonly key: PolicyFileKey;
}

export const policyFileNumbers: readonly PolicyFileSetting[] = numbers.flatMap((one) => {
  const { policyFile: key } = one.setting;
  return key === undefined ? [] : [{ ...one, key }];
});

/** Keys of one table of a policy file: `proc`, `net` or `fs.tmp`. */
export function policyFileEntries<Section extends string>(section: Section): NumberEntries<PolicyFileNumber<Section>> {
  const own = policyFileNumbers.filter(({ key }) => key.path.slice(0, key.path.lastIndexOf(".")) === section);
  const entries = own.map((one) => [
    one.key.path.slice(section.length + 1),
    { shape: policyFileShape(one), help: one.key.help },
  ]);
  return Object.fromEntries(entries);
}

const SIZE = "^[0-9]+(\\.[0-9]+)?[mgtMGT]([iI]?[bB])?$";
const TIME = "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$";

function policyFileShape({ path, setting, key }: PolicyFileSetting): Shape<number> {
  const { max, min, whole } = ranges[path];
  if (key.form === "number") return number({ min: key.least ?? min, max, whole });
  const [expected, pattern] =
    setting.quantity === mebibytes
      ? [`a size such as ${setting.quantity.format(setting.default ?? max)}`, SIZE]
      : ["a time such as 10m", TIME];
  return parsedText(expected, pattern, (field, text) => parseSetting(field, text, path));
}
