import type { Buffer } from "node:buffer";
import type { NumericValues } from "../settings/index.js";

/** What a caller asks for, by the long names of `run`'s options. Choices have been held to their lists already. */
export interface Wishes {
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

/** Options that the user gave once for whatever is asked for later. */
export type Said = Pick<Wishes, "flags" | "values">;

export const nothingSaid: Said = { flags: new Set(), values: new Map() };

/** Options that say something about programs, which a WebAssembly module has none of. */
export const ofPrograms = ["image", "user", "allow-domain", "secret", "publish"] as const;

/** They speak of one thing: whoever says something of it says all of it. */
const aboutNetwork: readonly string[] = ["network", "no-network", "allow-domain"];

/** What is asked for now counts before what was said once; of variables both count. To a module, words about programs say nothing. */
export function besideSaid({ flags, values }: Said, wishes: Wishes): Wishes {
  const isModule = ["wasm", "hyperlight"].includes(wishes.values.get("backend")?.[0] ?? "");
  const isNetworkSaid = aboutNetwork.some((one) => wishes.values.has(one) || wishes.flags.has(one));
  const isSaidAnew = (name: string) =>
    (aboutNetwork.includes(name) && (isNetworkSaid || isModule)) ||
    (isModule && ofPrograms.some((one) => one === name));
  const kept = [...values].filter(([name]) => !isSaidAnew(name));
  const env = [...(values.get("env") ?? []), ...(wishes.values.get("env") ?? [])];
  return {
    ...wishes,
    flags: new Set([...[...flags].filter((name) => !isSaidAnew(name)), ...wishes.flags]),
    values: new Map([...kept, ...wishes.values, ...(env.length === 0 ? [] : [["env", env] as const])]),
  };
}
