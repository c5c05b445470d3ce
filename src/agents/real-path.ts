/** Where paths really lead. */
import { realpathSync } from "node:fs";
import { relative } from "node:path";

/** Without links on the way. One that cannot be followed stays as it is; what is done with it then fails. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The folder itself, or anything below it. Both without links. */
export function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith("../");
}
