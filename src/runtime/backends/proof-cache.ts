/**
 * Proofs that are remembered: a file each, written by rename. One holds for this build, this boot, this user, this
 * state of the engine, and a while; a failure for a short one, since it may be repaired at any time.
 */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import type { BackendName } from "../../core/backend.js";
import { buildId } from "../../core/build-id.js";
import { joinedPath } from "../../core/joined-path.js";
import { stateFolder } from "../../core/state-folders.js";
import type { RuntimeHost } from "../open-backend.js";
import type { Proof } from "./proof.js";

const WORKS_FOR_MS = 24 * 3_600_000;
const FAILS_FOR_MS = 5 * 60_000;

type Place = Pick<RuntimeHost, "env" | "homeDir">;

/** Null where nothing is known, or not any more. */
export function recall(place: Place, name: BackendName, identity: string, nowMs = Date.now()): Proof | null {
  const kept = read(fileOf(place, name));
  if (kept === null || kept.key !== keyOf(identity)) return null;
  const age = nowMs - kept.atMs;
  const holds = age >= 0 && age < (kept.proof.works ? WORKS_FOR_MS : FAILS_FOR_MS);
  return holds ? kept.proof : null;
}

/** The last one, whatever it was for and however long ago. One small file to look at. */
export function lastProof(place: Place, name: BackendName): Proof | null {
  return read(fileOf(place, name))?.proof ?? null;
}

/** However old, where it is for just this: for proofs that depend on nothing else. */
export function recallSame(place: Place, name: BackendName, identity: string): Proof | null {
  const kept = read(fileOf(place, name));
  return kept?.key === keyOf(identity) ? kept.proof : null;
}

/** What cannot be written is found out again next time. */
export function remember(place: Place, name: BackendName, identity: string, proof: Proof, nowMs = Date.now()): void {
  const file = fileOf(place, name);
  const text = JSON.stringify({ key: keyOf(identity), atMs: nowMs, proof });
  try {
    mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 });
    const draft = `${file}.${Math.random().toString(36).slice(2)}`;
    writeFileSync(draft, text, { mode: 0o600 });
    renameSync(draft, file);
  } catch {
    // A full or read-only disk is told by whoever needs it to run a sandbox.
  }
}

function fileOf({ env, homeDir }: Place, name: BackendName): string {
  return joinedPath(stateFolder(env, homeDir), `proofs/${name}.json`);
}

let unchanging: string | null = null;

function keyOf(identity: string): string {
  unchanging ??= [buildId(), bootId(), userInfo().uid].join("\n");
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

interface Kept {
  readonly key: string;
  readonly atMs: number;
  readonly proof: Proof;
}

/** A file that is not as we write them is none. */
function read(file: string): Kept | null {
  try {
    // Most often there is none, and looking is cheaper than failing.
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return null;
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isKept(value) ? value : null;
  } catch {
    return null;
  }
}

function isKept(value: unknown): value is Kept {
  if (!isObject(value) || typeof value.key !== "string" || typeof value.atMs !== "number") return false;
  const { proof } = value;
  if (!isObject(proof) || typeof proof.works !== "boolean" || typeof proof.detail !== "string") return false;
  if (proof.nextStep !== null && typeof proof.nextStep !== "string") return false;
  return isObject(proof.facts) && Object.values(proof.facts).every((fact) => typeof fact === "string");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
