/** How the last sandbox in a state folder ended, as its supervisor or a sweeper wrote it down. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { LastEnd } from "../../../core/backend.js";
import { isFields, number, sandboxEnd, unexpected } from "../jail-events.js";

const VERSION = 1;

export async function readLastEnd(stateDir: string): Promise<LastEnd | null> {
  let text: string;
  try {
    text = await readFile(join(stateDir, "end.json"), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  const fields: unknown = JSON.parse(text);
  if (!isFields(fields) || fields.version !== VERSION || !isFields(fields.end)) throw unexpected(`end.json: ${text}`);
  return { atMs: number(fields, "atMs"), lost: fields.lost === true, end: sandboxEnd(fields.end) };
}
