/** Every tool there is. */
import type { Tool } from "../tool.js";
import { sandboxCreate } from "./create.js";
import { sandboxExec } from "./exec.js";
import { sandboxFileRead } from "./file-read.js";
import { sandboxFileWrite } from "./file-write.js";
import { sandboxList } from "./list.js";
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
  sandboxList,
  sandboxFileRead,
  sandboxFileWrite,
  sandboxStart,
  sandboxStop,
  sandboxRemove,
];
