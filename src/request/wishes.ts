import type { Buffer } from "node:buffer";

/** What a caller asks for, by the long names of `run`'s options. Choices have been held to their lists already. */
export interface Wishes {
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** The bytes of a WebAssembly module, where a caller sends one along. */
  readonly module?: Buffer;
  /** Who asks, where that is not the user of this machine. */
  readonly caller?: string;
  /** The command's words, untouched. */
  readonly rest: readonly string[];
}
