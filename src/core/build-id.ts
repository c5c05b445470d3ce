import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Which build this code is of. Two builds may be of one version and still differ. */
const inBundle = /\/chunks\/cli-([0-9a-f]{16})\.cjs$/;

/** The folder that the bundle was built into, or the one of a checkout whose sources themselves run. */
export function distFolder(url: string = import.meta.url): string {
  const here = dirname(fileURLToPath(url));
  return inBundle.test(url) ? dirname(here) : join(here, "..", "..", "dist");
}

/** The bundle's own hash, or `source` where the sources themselves run. */
export function buildId(url: string = import.meta.url): string {
  return inBundle.exec(url)?.[1] ?? "source";
}
