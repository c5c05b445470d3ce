/** A change as `--json` has it. */
import type { FileShape, ProjectChange } from "../../core/changes.js";

export function shownChange({
  change,
  path,
  from,
  now,
  before,
  binary,
  lines,
  conflict,
  refused,
  review,
}: ProjectChange): object {
  return {
    change,
    path,
    ...(from === null ? {} : { from }),
    now: shownShape(now),
    before: shownShape(before),
    ...(binary === null ? {} : { binary }),
    ...(lines === null ? {} : { lines_added: lines.added, lines_removed: lines.removed }),
    ...(conflict === null ? {} : { conflict }),
    ...(refused === null ? {} : { refused }),
    ...(review ? { review } : {}),
  };
}

function shownShape(shape: FileShape | null): object | null {
  if (shape === null) return null;
  const { type, mode, sizeBytes, target } = shape;
  const octal = (mode & 0o7777).toString(8).padStart(4, "0");
  return { type, mode: octal, size_bytes: sizeBytes, ...(target === null ? {} : { target }) };
}
