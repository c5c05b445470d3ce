/** A proof as it lies in its file, whatever it is for and however old. */
import type { BackendName } from "../../core/backend.js";
import type { Proof } from "./proof.js";
import { type HostFolders, proofFile, readJson } from "./proof-place.js";

export interface Kept {
  readonly key: string;
  readonly atMs: number;
  readonly proof: Proof;
}

/** A file that is not as we write them is none. */
export function readKept(place: HostFolders, name: BackendName): Kept | null {
  const value = readJson(proofFile(place, name));
  return isKept(value) ? value : null;
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
