/** How the program itself is removed: by whoever installed it. A line to be typed. */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { distFolder } from "../../core/build-id.js";
import { shellWord } from "../../core/shell-word.js";

export function programRemoval(dist: string = distFolder()): string {
  const home = dirname(dist);
  const parent = dirname(home);
  if (basename(parent) === "node_modules") {
    const isGlobal = basename(dirname(parent)) === "lib";
    return isGlobal
      ? "npm uninstall -g agentkernel"
      : `npm uninstall --prefix ${shellWord(dirname(parent))} agentkernel`;
  }
  const script = join(dirname(parent), "install.sh");
  if (basename(parent) === "versions" && existsSync(script)) return `sh ${shellWord(script)} --uninstall`;
  if (/\/Cellar\/agentkernel\//.test(home)) return "brew uninstall agentkernel";
  return `rm -r ${shellWord(home)}`;
}
