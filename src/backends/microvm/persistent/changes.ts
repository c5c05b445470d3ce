/**
 * What a machine that stays changed in its copy of the project. One that runs is asked; one that does not is started for
 * the question alone, with nothing of the sandbox's own running in it.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CarryReport } from "../../../core/backend.js";
import type { PersistentChanges } from "../../../core/changes.js";
import { AgentKernelError } from "../../../core/errors.js";
import { broughtChanges } from "../../entry/brought-changes.js";
import { bringChanges, carryChanges } from "../../entry/copied-project.js";
import { inTurn } from "../../entry/in-turn.js";
import { Control, readStatus } from "../../linux/persistent/control.js";
import type { MicrovmOptions } from "../options.js";
import { keepingLastEnd, noteOfEnd } from "./last-end.js";
import { readSaved } from "./memory.js";
import { readRecord, writeRecord } from "./record.js";
import { withMachine } from "./start.js";
import { sendTask } from "./task.js";

export function machineChanges(options: MicrovmOptions): PersistentChanges {
  return broughtChanges((stateDir) => inTurn(stateDir, () => bringAll(options, stateDir)));
}

/** Of a synced project, when its sandbox has ended in order. */
export async function carryAtStop(options: MicrovmOptions, stateDir: string): Promise<CarryReport> {
  await inTurn(stateDir, () => bringAll(options, stateDir));
  const report = await carryChanges(stateDir);
  await noteOfEnd(stateDir, { carried: report });
  const record = readRecord(stateDir);
  if (record !== null) writeRecord(stateDir, { ...record, isCarried: true });
  return report;
}

async function bringAll(options: MicrovmOptions, stateDir: string): Promise<void> {
  const record = readRecord(stateDir);
  // Without a project there is nothing to bring, and whoever lists says so.
  if (record === null || !record.isFilled || record.isCarried || !existsSync(join(stateDir, "listing"))) return;
  if (readSaved(stateDir) !== null) {
    const why = "its memory was saved with its disk, which must not change before it goes on from there";
    throw new AgentKernelError("conflict", `the sandbox cannot be asked for its changes yet: ${why}`, {
      hint: "start it first",
    });
  }
  const isPaused = await pausedState(stateDir);
  if (isPaused === true) {
    throw new AgentKernelError("conflict", "the sandbox is paused, and cannot tell its changes", { hint: "resume it" });
  }
  if (isPaused === false) {
    await bringLive(stateDir);
  } else if (!record.isBrought) {
    writeRecord(stateDir, { ...record, isAsked: true });
    try {
      await keepingLastEnd(stateDir, () =>
        withMachine(options, stateDir, record, undefined, async ({ jail, stream }) => {
          await bringChanges(stateDir, stream, "gather");
          await jail.over;
        }),
      );
    } finally {
      writeRecord(stateDir, { ...record, isAsked: false });
    }
    writeRecord(stateDir, { ...record, isBrought: true });
  }
}

async function bringLive(stateDir: string): Promise<void> {
  const stream = await sendTask(stateDir, "gather");
  try {
    await bringChanges(stateDir, stream, "live");
  } finally {
    stream.destroy();
  }
}

/** Null where it does not run. */
async function pausedState(stateDir: string): Promise<boolean | null> {
  const control = await Control.connect(stateDir);
  if (control === null) return null;
  try {
    return readStatus(await control.ask({ do: "status" })).paused;
  } finally {
    control.close();
  }
}
