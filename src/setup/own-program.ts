/** How this program is called by a service, which knows no shell and no search path: Node and the bundle. */
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";

export function ownProgram(entry: string = process.argv[1] ?? ""): readonly string[] {
  const real = realpathSync(entry);
  return [process.execPath, throughCurrent(real) ?? real];
}

/** The install script keeps each version in a folder of its own; what is to outlive an upgrade leads through its link. */
function throughCurrent(entry: string): string | null {
  const [, base, below] = /^(.*\/lib\/agentkernel)\/versions\/[^/]+\/(.*)$/.exec(entry) ?? [];
  if (base === undefined || below === undefined) return null;
  const path = join(base, "current", below);
  return existsSync(path) && realpathSync(path) === entry ? path : null;
}
