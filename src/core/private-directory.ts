/** Folders from which sandboxes are made: whoever can write there decides what runs in them. */
import { chmodSync, mkdirSync, statSync } from "node:fs";
import { AgentKernelError } from "./errors.js";

const WRITABLE_BY_OTHERS = 0o022;

/** It is there afterwards, belongs to the caller, and nobody else can write to it. HOME may be another's (sudo). */
export function makePrivateDirectory(folder: string, what: string, variable: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(folder);
  if (uid !== process.geteuid?.()) {
    throw new AgentKernelError("conflict", `${what} ${folder} belongs to another user`, {
      hint: `use a folder of your own: set ${variable}, or HOME`,
    });
  }
  if ((mode & WRITABLE_BY_OTHERS) !== 0) chmodSync(folder, mode & 0o777 & ~WRITABLE_BY_OTHERS);
}
