/** Where a program is, by its name. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

/** The first file of that name in PATH that may be executed. Folders that depend on where one stands do not count. */
export function findProgram(name: string, path: string | undefined): string | null {
  for (const folder of (path ?? "").split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const candidate = join(folder, name);
    try {
      // Most folders do not have it, and an error takes longer than the question.
      if (statSync(candidate, { throwIfNoEntry: false })?.isFile() !== true) continue;
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // Not there, or not to be executed: the next folder.
    }
  }
  return null;
}
