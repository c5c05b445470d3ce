/** How the program itself is removed: by whoever installed it. */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { distFolder } from "../../core/build-id.js";

export function programRemoval(dist: string = distFolder()): string {
  const home = dirname(dist);
  if (basename(dirname(home)) === "node_modules") return "npm uninstall -g agentkernel";
  const script = join(dirname(dirname(home)), "install.sh");
  if (basename(dirname(home)) === "versions" && existsSync(script)) return `sh ${script} --uninstall`;
  if (/\/Cellar\/agentkernel\//.test(home)) return "brew uninstall agentkernel";
  return `rm -r ${home}`;
}
