/**
 * Proofs that are remembered: a file each. One holds for this build, this boot, this user, this state of the engine, and
 * a while; a failure for a short one, since it may be repaired at any time.
 */
import { readFileSync } from "node:fs";
import { userId } from "../../core/account.js";
import type { BackendName } from "../../core/backend.js";
import { buildId } from "../../core/build-id.js";
import { type Kept, readKept } from "./kept-proof.js";
import { isByHardware, type Proof } from "./proof.js";
import { type HostFolders, proofFile, writeJson } from "./proof-place.js";
import { rememberHardware } from "./seen-hardware.js";

const WORKS_FOR_MS = 24 * 3_600_000;
const FAILS_FOR_MS = 5 * 60_000;

/** Null where nothing is known, or not any more. */
export function recall(place: HostFolders, name: BackendName, identity: string, nowMs = Date.now()): Proof | null {
  const kept = read(place, name, identity);
  return kept !== null && isYoung(kept, kept.proof.works ? WORKS_FOR_MS : FAILS_FOR_MS, nowMs) ? kept.proof : null;
}

/**
 * Of virtual machines. That hardware ran one counts at any age, since it depends on nothing but the identity; that it
 * did not is a failure here, whatever ran the machine instead.
 */
export function recallMachine(place: HostFolders, identity: string, nowMs = Date.now()): Proof | null {
  const kept = read(place, "microvm", identity);
  return kept !== null && (isByHardware(kept.proof) || isYoung(kept, FAILS_FOR_MS, nowMs)) ? kept.proof : null;
}

function isYoung({ atMs }: Kept, limitMs: number, nowMs: number): boolean {
  const age = nowMs - atMs;
  return age >= 0 && age < limitMs;
}

export function remember(
  place: HostFolders,
  name: BackendName,
  identity: string,
  proof: Proof,
  nowMs = Date.now(),
): void {
  if (name === "microvm") rememberHardware(place, proof);
  writeJson(proofFile(place, name), { key: keyOf(identity), atMs: nowMs, proof });
}

let unchanging: string | null = null;

function keyOf(identity: string): string {
  unchanging ??= [buildId(), bootId(), userId()].join("\n");
  return `${unchanging}\n${identity}`;
}

/** Another boot may be another kernel. */
function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}

function read(place: HostFolders, name: BackendName, identity: string): Kept | null {
  const kept = readKept(place, name);
  return kept?.key === keyOf(identity) ? kept : null;
}
