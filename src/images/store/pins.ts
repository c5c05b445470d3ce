/** Keeps blobs from being cleared away while a process needs them. A pin ends with its process, however that dies. */
import { randomBytes } from "node:crypto";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { holderState, processOf } from "../../core/process-mark.js";
import { type Digest, isDigest } from "../digest.js";
import { isKeptHold, readKeptHold } from "./kept-hold.js";
import { isCode, type StoreLayout, writeWhole } from "./layout.js";
import { waitForLock } from "./lock.js";

export interface Pin {
  release(): Promise<void>;
}

/** Owners that cannot be seen from here are believed for this long. */
const UNSEEN_OWNER_MS = 24 * 60 * 60 * 1000;
const LOCK_WAIT_MS = 30_000;

/** Name of the lock that puts pinning and clearing in order: what is pinned before a clearing is seen by it. */
export const CLEARING_LOCK = "clearing";

export async function pin(layout: StoreLayout, digests: readonly Digest[], signal?: AbortSignal): Promise<Pin> {
  const path = join(layout.pins, `${layout.mark}.${randomBytes(8).toString("hex")}`);
  // Where the lock cannot be had, the pin still stands from here on, and a record with a missing blob is no record.
  const lock = await waitForLock(layout.lockName(CLEARING_LOCK), LOCK_WAIT_MS, signal);
  try {
    await writeWhole(layout, path, digests.join("\n"));
  } finally {
    await lock?.release();
  }
  return { release: () => rm(path, { force: true }) };
}

/** What is pinned now. */
export async function pinnedDigests(layout: StoreLayout): Promise<Set<Digest>> {
  return new Set((await pinUsers(layout)).keys());
}

/** The number of a process, or the name of a sandbox that stays. */
export type PinUser = number | string;

/** What is pinned now, and by whom. Pins of what is gone are removed on the way. */
export async function pinUsers(layout: StoreLayout): Promise<Map<Digest, PinUser[]>> {
  const users = new Map<Digest, PinUser[]>();
  const add = (digest: Digest, user: PinUser) => users.set(digest, [...(users.get(digest) ?? []), user]);
  for (const name of await readdir(layout.pins)) {
    const path = join(layout.pins, name);
    if (isKeptHold(name)) {
      const hold = await readKeptHold(path);
      for (const digest of hold?.digests ?? []) add(digest, hold?.name ?? "");
      continue;
    }
    const state = holderState(name.split(".")[0] ?? "");
    if (state === "dead" || (state === "unknown" && (await ageMs(path)) > UNSEEN_OWNER_MS)) {
      await rm(path, { force: true });
      continue;
    }
    const pid = processOf(name);
    for (const line of await linesOf(path)) if (isDigest(line)) add(line, pid);
  }
  return users;
}

async function ageMs(path: string): Promise<number> {
  const info = await stat(path).catch(() => null);
  return info === null ? 0 : Date.now() - info.mtimeMs;
}

async function linesOf(path: string): Promise<string[]> {
  try {
    return (await readFile(path, "utf8")).split("\n");
  } catch (error) {
    // Released meanwhile.
    if (isCode(error, "ENOENT")) return [];
    throw error;
  }
}
