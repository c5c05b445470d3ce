/** Which build this code is of. Two builds may be of one version and still differ. */
const inBundle = /\/chunks\/cli-([0-9a-f]{16})\.cjs$/;

/** The bundle's own hash, or `source` where the sources themselves run. */
export function buildId(url: string = import.meta.url): string {
  return inBundle.exec(url)?.[1] ?? "source";
}
