/** From words to a verb and its options. Words that cannot change any more, as a daemon has them, are understood once. */
import type { ParsedOptions, VerbSpec } from "./option-spec.js";
import { parseOptions } from "./parse-options.js";
import { findVerb } from "./verbs.js";

interface Understood {
  readonly verb: VerbSpec;
  readonly parsed: ParsedOptions;
}

const known = new WeakMap<readonly string[], Understood>();

/** Throws where there is no such verb; what is wrong with its options is told in `parsed`. */
export function understand(words: readonly string[]): Understood {
  const before = known.get(words);
  if (before !== undefined) return before;
  const { verb, rest } = findVerb(words);
  const understood = { verb, parsed: parseOptions(verb, rest) };
  if (Object.isFrozen(words)) known.set(words, understood);
  return understood;
}
