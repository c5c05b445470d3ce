import type { Invocation } from "../../invocation/index.js";

/** The process that may serve a command line: only a daemon, only one of its own, or any. */
type ServedBy = "daemon" | "own process" | "any";

/** The verbs of the command line, which hands them to the daemon that it runs: the daemon itself knows none. */
export interface Commands {
  /** Serves a command line. Returns its exit status; never rejects. */
  dispatch(words: readonly string[], invocation: Invocation): Promise<number>;
  /** Throws an error of ours where the words make no sense. */
  servedBy(words: readonly string[]): Promise<{ readonly verb: string; readonly by: ServedBy }>;
  /** Whether it waits for its caller most of the time. */
  isStanding(words: readonly string[]): boolean;
  /** Loads what most command lines need, so that the first one waits for nothing. */
  preload(): Promise<unknown>;
}
