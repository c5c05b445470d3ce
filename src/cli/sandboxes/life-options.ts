/** `--ttl` and `--idle-timeout`. */
import { parseDurationMs } from "../../policy/resources.js";
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
  if (text === undefined) return null;
  const days = /^(\d{1,2})d$/.exec(text)?.[1];
  return parseDurationMs(`--${option}`, days === undefined ? text : `${Number(days) * 24}h`);
}
