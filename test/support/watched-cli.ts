/** A run of the command line that a test watches. */
import type { Actor } from "./actors.js";
import { type CliOptions, startCli } from "./run-cli.js";
import { WatchedProcess } from "./watched-process.js";

export type { ProcessEnd as CliEnd } from "./watched-process.js";

export class WatchedCli extends WatchedProcess {
  constructor(actor: Actor, words: readonly string[], options: CliOptions = {}) {
    super(startCli(actor, words, options));
  }
}
