/** Which paths of the project an `apply` changed. */
import type { ApplyReport } from "./changes.js";

export interface AppliedPaths {
  readonly written: readonly string[];
  readonly deleted: readonly string[];
}

export function appliedPaths({ changes }: Pick<ApplyReport, "changes">): AppliedPaths {
  const done = changes.filter(({ conflict, refused, review }) => conflict === null && refused === null && !review);
  return {
    written: done.flatMap(({ change, path }) => (change === "deleted" ? [] : [path])).sort(),
    deleted: done.flatMap(({ change, path, from }) => (change === "deleted" ? [path] : (from ?? []))).sort(),
  };
}
