/** How this program is called by a service, which knows no shell and no search path: Node and the bundle. */
import { realpathSync } from "node:fs";

export function ownProgram(): readonly string[] {
  const [, entry = ""] = process.argv;
  return [process.execPath, realpathSync(entry)];
}
