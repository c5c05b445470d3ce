/** Every operation there is, in the order of the description. */
import * as changes from "./changes.js";
import * as execs from "./execs.js";
import * as files from "./files.js";
import type { Operation } from "./operation.js";
import * as ports from "./ports.js";
import * as runs from "./runs.js";
import * as sandboxes from "./sandboxes.js";
import * as snapshots from "./snapshots.js";
import * as system from "./system.js";
import * as watching from "./watching.js";

export const operations = {
  run: runs.run,
  runStream: runs.runStream,
  batchRun: runs.batchRun,
  listSandboxes: sandboxes.listSandboxes,
  createSandbox: sandboxes.createSandbox,
  getSandbox: sandboxes.getSandbox,
  patchSandbox: sandboxes.patchSandbox,
  removeSandbox: sandboxes.removeSandbox,
  startSandbox: sandboxes.startSandbox,
  stopSandbox: sandboxes.stopSandbox,
  pauseSandbox: sandboxes.pauseSandbox,
  resumeSandbox: sandboxes.resumeSandbox,
  snapshotSandbox: snapshots.snapshotSandbox,
  forkSandbox: snapshots.forkSandbox,
  listSnapshots: snapshots.listSnapshots,
  getSnapshot: snapshots.getSnapshot,
  removeSnapshot: snapshots.removeSnapshot,
  restoreSnapshot: snapshots.restoreSnapshot,
  sandboxStats: sandboxes.sandboxStats,
  diffSandbox: changes.diffSandbox,
  applySandbox: changes.applySandbox,
  exec: execs.exec,
  execStream: execs.execStream,
  killExec: execs.killExec,
  attach: execs.attach,
  getPort: ports.getPort,
  postPort: ports.postPort,
  putPort: ports.putPort,
  patchPort: ports.patchPort,
  deletePort: ports.deletePort,
  readFile: files.readFile,
  writeFile: files.writeFile,
  deleteFile: files.deleteFile,
  logs: watching.logs,
  sandboxAudit: watching.sandboxAudit,
  sandboxEvents: watching.sandboxEvents,
  audit: watching.audit,
  events: watching.events,
  health: system.health,
  version: system.version,
  metrics: system.metrics,
  description: system.description,
  docs: system.docs,
} as const;

export type OperationName = keyof typeof operations;
export const allOperations: readonly Operation<never, never>[] = Object.values(operations) as never;
