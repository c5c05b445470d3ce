/** Every tool there is. */
import type { Tool } from "../tool.js";
import { sandboxBackground } from "./background.js";
import { sandboxCreate } from "./create.js";
import { sandboxDiff } from "./diff.js";
import { sandboxExec } from "./exec.js";
import { sandboxFileRead } from "./file-read.js";
import { sandboxFileWrite } from "./file-write.js";
import { sandboxKill } from "./kill.js";
import { sandboxList } from "./list.js";
import { sandboxLogs } from "./logs.js";
import { sandboxRemove } from "./remove.js";
import { sandboxRun } from "./run.js";
import { sandboxSessionCreate } from "./session-create.js";
import { sandboxStart } from "./start.js";
import { sandboxStop } from "./stop.js";

export const tools: readonly Tool[] = [
  sandboxRun,
  sandboxSessionCreate,
  sandboxCreate,
  sandboxExec,
  sandboxBackground,
  sandboxLogs,
  sandboxKill,
  sandboxDiff,
  sandboxList,
  sandboxFileRead,
  sandboxFileWrite,
  sandboxStart,
  sandboxStop,
  sandboxRemove,
];
