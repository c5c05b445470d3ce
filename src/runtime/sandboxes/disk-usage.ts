/** What lies in a folder, as blocks on its disk. The tree is a sandbox's own making, so the walk is bounded. */
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

const MOST_ENTRIES = 200_000;
const BLOCK_BYTES = 512;

/** Null where it is not to be had: parts of it cannot be read, or it has too many. Links are not followed. */
export async function diskBytes(folder: string): Promise<number | null> {
  const waiting = [folder];
  let entries = 0;
  let bytes = 0;
  try {
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const found = await readdir(path, { withFileTypes: true });
      entries += found.length;
      if (entries > MOST_ENTRIES) return null;
      for (const entry of found) {
        const child = join(path, entry.name);
        bytes += (await lstat(child)).blocks * BLOCK_BYTES;
        if (entry.isDirectory()) waiting.push(child);
      }
    }
    return bytes;
  } catch (error) {
    // Removed meanwhile, too deep for a path, or of another user's: no figure is better than a wrong one.
    if (error instanceof Error && "code" in error) return null;
    throw error;
  }
}
