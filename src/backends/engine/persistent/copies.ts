/**
 * Copies of kept containers: an image of the container's root, and what the host knows of its project. Where the root
 * cannot be written, what is kept lies in volumes, of which an image has nothing.
 */
import type { SandboxCopies, SandboxCopy } from "../../../core/backend.js";
import { AgentKernelError } from "../../../core/errors.js";
import { copyNotes } from "../../entry/copied-notes.js";
import { Container } from "../container.js";
import type { Engine } from "../engine.js";
import { commit, hold, letGo, sweepCopyImages } from "./copy-images.js";
import { type ContainerRecord, readRecord } from "./record.js";
import { newName, readSaved, writeSaved } from "./saved.js";

/** What the host knows of the project. The layer of its changes is made anew when they are asked for. */
const NOTES = ["project.json", "listing", "max-bytes", "applied"];

/** An engine writes holes as zeros, and a file of holes can have any length. */
const MOST_BYTES = 32 * 2 ** 30;

export function engineCopies(engineOf: () => Engine): SandboxCopies {
  return {
    of: "files",
    async make(stateDir, into, signal) {
      signal?.throwIfAborted();
      const engine = engineOf();
      await sweepCopyImages(engine);
      const record = readRecord(stateDir);
      const copied = record === null ? again(engine, stateDir, into) : await ofContainer(engine, record, into, signal);
      copyNotes(stateDir, into, NOTES);
      return copied;
    },
  };
}

/** The folder that had it does not need it any more. */
export async function forgetCopy(engineOf: () => Engine, stateDir: string): Promise<void> {
  const saved = readSaved(stateDir);
  if (saved !== null) await letGo(engineOf(), saved.token, saved.holder);
}

async function ofContainer(
  engine: Engine,
  record: ContainerRecord,
  into: string,
  signal?: AbortSignal,
): Promise<SandboxCopy> {
  const { id, isFilled, isCarried, isSynced } = record;
  const container = new Container(engine.client, id);
  const state = await container.inspect();
  if (state === null) {
    throw new AgentKernelError("sandbox_died", "its container was removed, with all that was in it", {
      hint: "remove the sandbox and create it again",
    });
  }
  if (state.hasVolumes) {
    throw new AgentKernelError("unsupported", "some of what it writes lies in a volume of the engine's", {
      hint: "on an engine, sandboxes with a read-only root, and of images with volumes, have no snapshots and no forks",
    });
  }
  const bytes = await container.writtenBytes();
  if (bytes !== null && bytes > MOST_BYTES) {
    throw new AgentKernelError("resource_exhausted", `its files are ${bytes} bytes long, holes included`, {
      hint: `an engine writes holes as zeros, so no more than ${MOST_BYTES} bytes are copied: remove what is not needed`,
    });
  }
  const saved = {
    engine: engine.kind,
    token: newName(),
    holder: newName(),
    image: null,
    known: { isFilled, isCarried, isSynced },
  };
  writeSaved(into, saved);
  hold(engine, saved.token, saved.holder);
  writeSaved(into, { ...saved, image: await commit(engine, id, saved.token, signal) });
  return { entries: null, bytes };
}

/** A copy of what was never started has the same image. */
function again(engine: Engine, stateDir: string, into: string): SandboxCopy {
  const nothing = { entries: null, bytes: null };
  const saved = readSaved(stateDir);
  if (saved === null) return nothing;
  const own = { ...saved, holder: newName() };
  writeSaved(into, own);
  hold(engine, own.token, own.holder);
  return nothing;
}
