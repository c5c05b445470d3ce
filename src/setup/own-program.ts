/** How this program is called by a service, which knows no shell and no search path: Node and the bundle. */
import { realpathSync } from "node:fs";
import { lastingPath } from "../core/lasting-path.js";

export function ownProgram(entry: string = process.argv[1] ?? ""): readonly string[] {
  return [process.execPath, lastingPath(realpathSync(entry))];
}
