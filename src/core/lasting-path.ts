/**
 * What others write down about where our own files lie must outlive an upgrade. The install script keeps each version in
 * a folder of its own, and a link to the one that counts: the path through that link is the one that lasts.
 */
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";

export function lastingPath(path: string): string {
  const [, base, below] = /^(.*\/lib\/agentkernel)\/versions\/[^/]+\/(.*)$/.exec(path) ?? [];
  if (base === undefined || below === undefined) return path;
  const through = join(base, "current", below);
  return existsSync(through) && realpathSync(through) === path ? through : path;
}
