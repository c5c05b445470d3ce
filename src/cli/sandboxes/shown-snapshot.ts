/** A snapshot as `--json` shows it. */
import type { SnapshotInfo } from "../../runtime/sandboxes/index.js";

export function shownSnapshot(info: SnapshotInfo): object {
  return {
    name: info.name,
    id: info.id,
    owner: info.owner,
    sandbox: info.sandbox,
    backend: info.backend,
    image: info.image,
    project: info.projectDir,
    created_at: new Date(info.createdAtMs).toISOString(),
    memory: info.memory,
    size_bytes: info.bytes,
  };
}
