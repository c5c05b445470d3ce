/**
 * How much memory a daemon keeps for nothing. It serves many small things for days: little garbage at a time, cleared by
 * few threads, leaves the processors to sandboxes, and what is free is given back.
 */
import { setFlagsFromString } from "node:v8";

/** Node's words, which count from its start only. */
export const HEAP_WORDS: readonly string[] = ["--max-semi-space-size=2", "--v8-pool-size=1"];

/**
 * Of glibc's heap, which reads them when the process starts. By default each thread has a part of its own, and a limit that
 * rises keeps what is free: ten megabytes after a minute of mixed load, none of it in use.
 */
const HEAP_VARIABLES = { MALLOC_ARENA_MAX: "1", MALLOC_TRIM_THRESHOLD_: String(1 << 20) };

/**
 * Of V8's heap, at any time. Without them code that was compiled once stays for good, and so do pages that have a few
 * objects left in them: what a time of mixed load leaves behind. Full collections are rare, and the heap is small.
 */
const COLLECTOR_FLAGS = ["--flush-baseline-code", "--compact-on-every-full-gc"];

/** Adds what the process itself reads at its start. */
export function withHeapVariables(env: Readonly<Record<string, string>>): Record<string, string> {
  return { ...env, ...HEAP_VARIABLES };
}

/** They have been read, and are nothing of what the user has in their environment. */
export function forgetHeapVariables(env: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(HEAP_VARIABLES)) {
    if (env[name] === value) delete env[name];
  }
}

/** For the process around it, from the next full collection on. */
export function keepHeapCompact(): void {
  for (const flag of COLLECTOR_FLAGS) setFlagsFromString(flag);
}
