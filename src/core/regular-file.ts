/** Reading files that come with a project: only what is a regular file, so that a pipe of that name cannot hold us up. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

/** Throws as Node does; `EINVAL` where it is not a regular file. */
export function readRegularFile(path: string): Buffer {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(descriptor).isFile()) {
      throw Object.assign(new Error(`EINVAL: not a regular file, open '${path}'`), { code: "EINVAL" });
    }
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
