import type { Buffer } from "node:buffer";
import type { Random } from "./mutations.mjs";

export interface SearchOptions {
  readonly run: (input: Buffer) => void | Promise<void>;
  readonly counters: Uint8Array;
  readonly words: readonly string[];
  readonly random: Random;
  readonly maxBytes: number;
}
export class Search {
  constructor(options: SearchOptions);
  readonly kept: Buffer[];
  readonly executions: number;
  readonly reached: number;
  try(input: Buffer): Promise<boolean>;
  seed(inputs: readonly Buffer[]): Promise<void>;
  next(): Buffer;
  step(input: Buffer): Promise<void>;
}
export function minimized(input: Buffer, fails: (input: Buffer) => Promise<boolean>, tries: number): Promise<Buffer>;
