/**
 * A project that was copied into a container, and its way back. The container tells what differs from the listing that
 * was made when the project was in place, and `ak-changes` makes a layer of it on the host, which is judged and taken
 * over as the layer of any other sandbox. Nothing that a container says is trusted.
 */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { BootSpec, CarryReport } from "../../core/backend.js";
import { isAgentKernelError } from "../../core/errors.js";
import { holderState, ownMark } from "../../core/process-mark.js";
import { carryReport } from "../linux/jail-events.js";
import { askChanges, startChangesJob } from "../linux/persistent/changes.js";
import { sendAll, sendMessage } from "./talk.js";
import type { CopiedView } from "./views.js";

const LISTING = "listing";
const OWNER = "owner";

/** Before anything is read of it: what the host changes from now on is the host's doing. */
export async function beginProject(stateDir: string, { source, isSynced }: CopiedView, boot: BootSpec): Promise<void> {
  const { deny, protect, review } = boot.policy.fs;
  const order = { source, isSynced, hide: deny, protect, review, setAside: boot.setAside ?? null };
  const job = await startChangesJob({}, ["begin", stateDir], order);
  await job.finished();
}

export async function writeListing(stateDir: string, listing: Buffer): Promise<void> {
  await writeFile(join(stateDir, LISTING), listing, { mode: 0o600 });
}

/** On a stream to `ak-entry gather`, or to a container that was started for it. */
export async function bringChanges(stateDir: string, stream: Duplex, word: "last" | "live" | "gather"): Promise<void> {
  const maxBytes = await readFile(join(stateDir, "max-bytes"), "utf8");
  const job = await startChangesJob({}, ["receive", stateDir, maxBytes], stream as AsyncIterable<Buffer>);
  try {
    await sendMessage(stream, Buffer.from(word));
    await sendAll(stream, await readFile(join(stateDir, LISTING)));
  } catch (error) {
    // Why it does not listen is what the other end says.
    if (!isAgentKernelError(error)) throw error;
  }
  await job.finished();
}

export async function carryChanges(stateDir: string): Promise<CarryReport> {
  return carryReport((await askChanges({}, "carry", stateDir, {})).end);
}

/** A layer can have folders that only the program which made it can look into. */
export async function forgetChanges(stateDir: string): Promise<void> {
  await (await startChangesJob({}, ["forget", stateDir], {})).finished();
}

/** A container may say that a file is as long as it likes; nothing beyond its disk is believed. */
export async function limitChanges(stateDir: string, { policy: { resources } }: BootSpec): Promise<void> {
  await writeFile(join(stateDir, "max-bytes"), String(resources.diskMiB * (1 << 20)), { mode: 0o600 });
}

/** Of a sandbox that does not stay: a folder of its own, until its changes are carried over. */
export async function temporaryProject(folder: string, id: string): Promise<string> {
  const stateDir = join(folder, "projects", id);
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  await writeFile(join(stateDir, OWNER), ownMark(), { mode: 0o600 });
  return stateDir;
}

export async function removeProject(stateDir: string): Promise<void> {
  await forgetChanges(stateDir);
  await rm(stateDir, { recursive: true, force: true });
}

/** Those whose owner was killed. */
export async function sweepProjects(folder: string): Promise<void> {
  const all = await readdir(join(folder, "projects")).catch(() => []);
  for (const name of all) {
    const stateDir = join(folder, "projects", name);
    const owner = await readFile(join(stateDir, OWNER), "utf8").catch(() => null);
    if (owner !== null && holderState(owner) === "dead") await removeProject(stateDir);
  }
}
