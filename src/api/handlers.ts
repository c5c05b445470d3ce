/** Which code serves which operation. One that is described and not served does not compile. */
import type { Handlers } from "./call.js";
import { attach } from "./resources/attach.js";
import { batchRun } from "./resources/batches.js";
import * as changes from "./resources/changes.js";
import * as execs from "./resources/execs.js";
import * as files from "./resources/files.js";
import { proxyPort } from "./resources/ports.js";
import * as runs from "./resources/runs.js";
import * as sandboxes from "./resources/sandboxes.js";
import * as snapshots from "./resources/snapshots.js";
import * as system from "./resources/system.js";
import * as watching from "./resources/watching.js";

export const handlers: Handlers = {
  ...system,
  run: runs.run,
  runStream: runs.runStream,
  batchRun,
  listSandboxes: sandboxes.listSandboxes,
  createSandbox: sandboxes.createSandbox,
  getSandbox: sandboxes.getSandbox,
  patchSandbox: sandboxes.patchSandbox,
  removeSandbox: sandboxes.removeSandbox,
  startSandbox: sandboxes.startSandbox,
  stopSandbox: sandboxes.stopSandbox,
  pauseSandbox: sandboxes.pauseSandbox,
  resumeSandbox: sandboxes.resumeSandbox,
  ...snapshots,
  sandboxStats: sandboxes.sandboxStats,
  diffSandbox: changes.diffSandbox,
  applySandbox: changes.applySandbox,
  exec: execs.exec,
  execStream: execs.execStream,
  killExec: execs.killExec,
  attach,
  getPort: proxyPort,
  postPort: proxyPort,
  putPort: proxyPort,
  patchPort: proxyPort,
  deletePort: proxyPort,
  readFile: files.readFile,
  writeFile: files.writeFile,
  deleteFile: files.deleteFile,
  logs: watching.logs,
  sandboxAudit: watching.sandboxAudit,
  sandboxEvents: watching.sandboxEvents,
  audit: watching.audit,
  events: watching.events,
};
