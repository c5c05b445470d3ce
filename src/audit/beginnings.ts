/**
 * A note outside the log's folder of when a log was begun, so that a log that is gone with its whole folder is missed:
 * by `verify`, and by the log that is begun in its place. One line each, only ever added to.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { isCode } from "./file-errors.js";
import { makeFolder } from "./make-folder.js";

/** When logs were begun in this folder, the oldest first. */
export function beginningsOf(notes: string, folder: string): readonly string[] {
  return textOf(notes)
    .split("\n")
    .flatMap((line) => momentIn(line, folder));
}

/** False where nothing can be written there: a home may be read-only while the log lies elsewhere. */
export function noteBeginning(notes: string, folder: string, time: string): boolean {
  try {
    makeFolder(dirname(notes));
    appendFileSync(notes, `${JSON.stringify({ folder, time })}\n`, { mode: 0o600 });
    return true;
  } catch (error) {
    if (isCode(error, "EACCES") || isCode(error, "EPERM") || isCode(error, "EROFS")) return false;
    throw error;
  }
}

function textOf(notes: string): string {
  try {
    return readFileSync(notes, "utf8");
  } catch (error) {
    if (isCode(error, "ENOENT")) return "";
    throw error;
  }
}

/** A line that is not as it was written is no note. */
function momentIn(line: string, folder: string): readonly string[] {
  const [, named, time] = /^(\{"folder":".*"),"time":"([0-9TZ:.-]+)"\}$/.exec(line) ?? [];
  return named === `{"folder":${JSON.stringify(folder)}` && time !== undefined ? [time] : [];
}
