/** Notices placeholders in bytes on which nothing is replaced, so that whoever meant to use a secret is told. */
import { Buffer } from "node:buffer";
import type { BoundSecret } from "./bound-secret.js";

export class PlaceholderWatch {
  #wanted: readonly { readonly name: string; readonly bytes: Buffer }[];
  readonly #found: (name: string) => void;
  #tail: Buffer = Buffer.alloc(0);

  constructor(secrets: readonly BoundSecret[], found: (name: string) => void) {
    const byName = new Map(secrets.map(({ name, placeholder }) => [name, Buffer.from(placeholder, "latin1")]));
    this.#wanted = [...byName].map(([name, bytes]) => ({ name, bytes }));
    this.#found = found;
  }

  push(chunk: Buffer): void {
    if (this.#wanted.length === 0) return;
    // A placeholder may lie across two chunks: in the end of what was and the start of what comes.
    const longest = Math.max(...this.#wanted.map(({ bytes }) => bytes.length)) - 1;
    const seam = this.#tail.length === 0 ? null : Buffer.concat([this.#tail, chunk.subarray(0, longest)]);
    const found = this.#wanted.filter(({ bytes }) => chunk.includes(bytes) || seam?.includes(bytes));
    const last = chunk.length >= longest ? chunk : Buffer.concat([this.#tail, chunk]);
    this.#tail = Buffer.from(last.subarray(Math.max(0, last.length - longest)));
    if (found.length === 0) return;
    this.#wanted = this.#wanted.filter((one) => !found.includes(one));
    for (const { name } of found) this.#found(name);
  }
}
