/** A folder with those above it, for its owner alone. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { isCode } from "./file-errors.js";

/** Step by step: Node's own recursive form never ends where the kernel says ENOENT for good, as in /proc. */
export function makeFolder(path: string): void {
  try {
    makeOne(path);
  } catch (error) {
    if (!isCode(error, "ENOENT") || dirname(path) === path) throw error;
    makeFolder(dirname(path));
    makeOne(path);
  }
}

function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error;
  }
}
