/** What the host has noted of a kept sandbox's project, for a copy of that sandbox. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";

/** Those of these names that there are. */
export function copyNotes(stateDir: string, into: string, names: readonly string[]): void {
  for (const name of names) {
    try {
      copyFileSync(join(stateDir, name), join(into, name));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    }
  }
}
