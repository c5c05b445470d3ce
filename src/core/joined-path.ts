/**
 * A folder and a name in it, as `join` has them. It looks at each character, and a process that serves many asks for the
 * same few places at every run: those are remembered.
 */
import { join } from "node:path";

const MOST_REMEMBERED = 256;
const known = new Map<string, Map<string, string>>();

export function joinedPath(folder: string, name: string): string {
  const before = known.get(folder)?.get(name);
  if (before !== undefined) return before;
  const path = join(folder, name);
  if (known.size >= MOST_REMEMBERED) known.clear();
  const names = known.get(folder) ?? new Map<string, string>();
  if (names.size >= MOST_REMEMBERED) names.clear();
  known.set(folder, names);
  names.set(name, path);
  return path;
}
