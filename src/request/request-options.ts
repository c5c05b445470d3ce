import type { Buffer } from "node:buffer";
import type { NumericValues } from "../settings/index.js";

/** What a caller asks for, by the long names of `run`'s options. Choices have been held to their lists already. */
export interface RequestOptions {
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Numbers that a caller sent as such, by their paths in the policy. */
  readonly numbers?: Partial<NumericValues>;
  /** The bytes of a WebAssembly module, where a caller sends one along. */
  readonly module?: Buffer;
  /** Who asks, where that is not the user of this machine. */
  readonly caller?: string;
  /** The command's words, untouched. */
  readonly rest: readonly string[];
}

/** Options that the user gave once, for every later request: those of `mcp server`. */
export type StandingOptions = Pick<RequestOptions, "flags" | "values">;

export const noStandingOptions: StandingOptions = { flags: new Set(), values: new Map() };

/** Options that say something about programs, which a WebAssembly module has none of. */
export const ofPrograms = ["image", "user", "allow-domain", "secret", "publish"] as const;

/** Options of one setting: a request that has one of them replaces all. */
const aboutNetwork: readonly string[] = ["network", "no-network", "allow-domain"];

/**
 * A request's own options replace the standing ones; variables of both are set. A WebAssembly module has no use for
 * standing options about programs.
 */
export function withStandingOptions({ flags, values }: StandingOptions, options: RequestOptions): RequestOptions {
  const isModule = ["wasm", "hyperlight"].includes(options.values.get("backend")?.[0] ?? "");
  const isNetworkNamed = aboutNetwork.some((one) => options.values.has(one) || options.flags.has(one));
  const isReplaced = (name: string) =>
    (aboutNetwork.includes(name) && (isNetworkNamed || isModule)) ||
    (isModule && ofPrograms.some((one) => one === name));
  const kept = [...values].filter(([name]) => !isReplaced(name));
  const env = [...(values.get("env") ?? []), ...(options.values.get("env") ?? [])];
  return {
    ...options,
    flags: new Set([...[...flags].filter((name) => !isReplaced(name)), ...options.flags]),
    values: new Map([...kept, ...options.values, ...(env.length === 0 ? [] : [["env", env] as const])]),
  };
}
