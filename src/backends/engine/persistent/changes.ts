/**
 * What a kept sandbox changed in its copy of the project. One that runs is asked; one that does not is started for the
 * question alone, with nothing of the sandbox's own running in it.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CarryReport } from "../../../core/backend.js";
import type { PersistentChanges } from "../../../core/changes.js";
import { AgentKernelError } from "../../../core/errors.js";
import { ownMark } from "../../../core/process-mark.js";
import { broughtChanges } from "../../entry/brought-changes.js";
import { bringChanges, carryChanges } from "../../entry/copied-project.js";
import { inTurn } from "../../entry/in-turn.js";
import { awaitEntry } from "../../entry/talk.js";
import { Container } from "../container.js";
import type { Engine } from "../engine.js";
import { explained } from "../start-container.js";
import { readRecord, writeRecord } from "./record.js";

export function engineChanges(engineOf: () => Engine): PersistentChanges {
  return broughtChanges((stateDir) => inTurn(stateDir, () => bringAll(engineOf(), stateDir)));
}

/** Of a synced project, when its sandbox has ended in order. */
export async function carryAtStop(engine: Engine, stateDir: string): Promise<CarryReport> {
  await inTurn(stateDir, () => bringAll(engine, stateDir));
  const report = await carryChanges(stateDir);
  const record = readRecord(stateDir);
  if (record !== null) writeRecord(stateDir, { ...record, isCarried: true });
  return report;
}

async function bringAll(engine: Engine, stateDir: string): Promise<void> {
  const record = readRecord(stateDir);
  // Without a project there is nothing to bring, and whoever lists says so.
  if (record === null || !record.isFilled || record.isCarried || !existsSync(join(stateDir, "listing"))) return;
  const container = new Container(engine.client, record.id);
  const state = await container.inspect();
  if (state === null) {
    throw new AgentKernelError("sandbox_died", "its container was removed, with all that was in it", {
      hint: "remove the sandbox and create it again",
    });
  }
  if (state.isPaused) {
    throw new AgentKernelError("conflict", "the sandbox is paused, and cannot tell its changes", { hint: "resume it" });
  }
  if (state.isRunning) await bringLive(container, stateDir);
  else if (!record.isBrought) {
    await container.insistOnFixedPrograms();
    writeRecord(stateDir, { ...record, gatherer: ownMark() });
    try {
      await bringStopped(container, stateDir);
    } finally {
      writeRecord(stateDir, { ...record, gatherer: null });
    }
    writeRecord(stateDir, { ...record, isBrought: true });
  }
}

async function bringLive(container: Container, stateDir: string): Promise<void> {
  const stream = await container.execEntry(["gather"], "0:0");
  try {
    await bringChanges(stateDir, stream, "live");
  } catch (error) {
    throw explained(error, stream);
  } finally {
    stream.destroy();
  }
}

async function bringStopped(container: Container, stateDir: string): Promise<void> {
  const stream = await container.attach();
  try {
    await container.start();
    await awaitEntry(stream);
    await bringChanges(stateDir, stream, "gather");
    await container.awaitEnd();
  } catch (error) {
    await container.kill();
    throw explained(error, stream);
  } finally {
    stream.destroy();
  }
}
