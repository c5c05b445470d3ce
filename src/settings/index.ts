/**
 * src/settings is the one table of what can be set of a sandbox: each setting is described once, and the policy, the
 * command line, configuration and policy files, HTTP, MCP, the ceilings of API keys and the reference in the
 * documentation are made from it. It is data and types, imports nothing outside itself, and never decides what a
 * sandbox is allowed: that is src/policy.
 */
import { commandSettings } from "./commands.js";
import { fileSettings } from "./files.js";
import { networkSettings } from "./network.js";
import {
  defaultOn,
  isSettable,
  type MachineSize,
  type NumericDescription,
  type SettableNumber,
} from "./numeric-setting.js";
import { resourceSettings } from "./resources.js";

/** By path in the policy. The order is that of help, of files and of `policy explain`. */
export const numericSettings = { ...resourceSettings, ...networkSettings, ...commandSettings, ...fileSettings };

type Table = typeof numericSettings;
export type NumericPath = keyof Table;

type ValueAt<P extends NumericPath> = Table[P] extends { readonly default: null } ? number | null : number;
type NameIn<P, Section extends string> = P extends `${Section}.${infer Name}` ? Name : never;

/** Each numeric setting by its path. */
export type NumericValues = { readonly [P in NumericPath]: ValueAt<P> };
/** The numeric settings of one section of the policy, by their names there. */
export type NumbersIn<Section extends string> = {
  readonly [P in NumericPath as NameIn<P, Section>]: ValueAt<P>;
};

export type SettablePath = { [P in NumericPath]: Table[P] extends SettableNumber ? P : never }[NumericPath];
type LastName<P extends string> = P extends `${string}.${infer Name}` ? LastName<Name> : P;
/** One of each setting that an API key has a ceiling for, by its name in the policy. */
export type CeilingNumbers = { readonly [P in SettablePath as LastName<P>]: number };
/** Keys of `[resources]` and `[limits]`. */
export type NumberKey = Table[SettablePath]["key"];
type JsonResourcePath = {
  [P in SettablePath]: Table[P] extends { readonly jsonPath: string } ? never : P;
}[SettablePath];
/** Keys of `resources` in JSON. */
export type ResourceKey = Table[JsonResourcePath]["key"];

type FileKey = Extract<Table[NumericPath], { readonly policyFile: unknown }>["policyFile"]["path"];
/** Keys of one table of a policy file. */
export type PolicyFileNumber<Section extends string> = NameIn<FileKey, Section>;

export interface NamedNumber<D extends NumericDescription = NumericDescription> {
  readonly path: NumericPath;
  /** The last part of the path. */
  readonly name: string;
  readonly setting: D;
}

export const numbers: readonly NamedNumber[] = Object.entries(numericSettings).map(([path, setting]) => ({
  path: path as NumericPath,
  name: path.slice(path.lastIndexOf(".") + 1),
  setting,
}));

export interface SettableNamed extends NamedNumber<SettableNumber> {
  readonly path: SettablePath;
  readonly name: keyof CeilingNumbers;
  /** `resources.memory_mb`, as a JSON request spells it. */
  readonly jsonPath: string;
}

/** Those that every surface can set. */
export const settableNumbers: readonly SettableNamed[] = numbers.flatMap(({ path, name, setting }) =>
  isSettable(setting)
    ? [
        {
          path: path as SettablePath,
          name: name as keyof CeilingNumbers,
          setting,
          jsonPath: setting.jsonPath ?? `resources.${setting.key}`,
        },
      ]
    : [],
);

/** Those in `resources` of a JSON request. */
export const resourceNumbers = settableNumbers.filter(({ setting }) => setting.jsonPath === undefined);

export const numericPaths = Object.keys(numericSettings) as readonly NumericPath[];

/** Of a machine that nothing is known of. */
export const numericDefaults = byPath(({ setting }) => setting.default) as NumericValues;

export function numericDefaultsOn(machine: MachineSize): NumericValues {
  return byPath(({ setting }) => defaultOn(setting, machine)) as NumericValues;
}

/** One entry for each numeric setting, by path. */
export function byPath<T>(make: (number: NamedNumber) => T): Readonly<Record<NumericPath, T>> {
  return Object.fromEntries(numbers.map((number) => [number.path, make(number)])) as Record<NumericPath, T>;
}

/** A section of the policy from values by path. */
export function numbersIn<Section extends string>(section: Section, values: NumericValues): NumbersIn<Section> {
  const own = numbers.filter(({ path }) => path.startsWith(`${section}.`));
  return Object.fromEntries(own.map(({ path, name }) => [name, values[path]])) as NumbersIn<Section>;
}

/** Values by path from the sections of a policy. */
export function numbersOf(policy: { readonly resources: NumbersIn<"resources">; readonly fs: NumbersIn<"fs"> }) {
  return byPath(({ path, name }) => {
    const section: Readonly<Record<string, unknown>> = path.startsWith("fs.") ? policy.fs : { ...policy.resources };
    return section[name];
  }) as NumericValues;
}
