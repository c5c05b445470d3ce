/** Options of which only one makes sense. */
import { AgentKernelError } from "../../core/errors.js";
import type { ParsedOptions } from "../option-spec.js";

/** The one that was given, or null. */
export function onlyOne<T extends string>({ flags }: ParsedOptions, names: readonly T[]): T | null {
  const [first, second] = names.filter((name) => flags.has(name));
  if (first !== undefined && second !== undefined) {
    throw new AgentKernelError("invalid_argument", `--${first} and --${second} are two forms of the same answer`, {
      hint: "give one of them",
    });
  }
  return first ?? null;
}
