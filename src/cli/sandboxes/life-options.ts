/** `--ttl` and `--idle-timeout`. */
import { parseLifeMs } from "../../policy/resources.js";
import type { ParsedOptions } from "../option-spec.js";

export interface Life {
  readonly ttlMs: number | null;
  readonly idleTimeoutMs: number | null;
}

export function lifeOf(parsed: ParsedOptions): Life {
  return { ttlMs: duration(parsed, "ttl"), idleTimeoutMs: duration(parsed, "idle-timeout") };
}

function duration({ values }: ParsedOptions, option: string): number | null {
  const text = values.get(option)?.[0];
  return text === undefined ? null : parseLifeMs(`--${option}`, text);
}
