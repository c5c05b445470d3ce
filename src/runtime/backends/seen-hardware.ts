/**
 * That hardware has run a virtual machine here, kept apart from what the last proof says: a failure in between is told
 * and looked at again, and does not turn machines off unnoticed. Only `doctor` takes it back, aloud.
 */
import { readKept } from "./kept-proof.js";
import { isByHardware, type Proof } from "./proof.js";
import { fileNamed, type HostFolders, readJson, settingOf, writeJson } from "./proof-place.js";

/** More ways to name an engine than anybody uses. */
const MOST = 16;

/** A small file or two to look at. */
export function hasSeenHardware(place: HostFolders): boolean {
  return settings(place).length > 0;
}

/** Before it takes the place of the last one, which may be all that says that hardware was seen. */
export function rememberHardware(place: HostFolders, proof: Proof): void {
  const known = settings(place);
  const own = settingOf(place, "microvm");
  if (isByHardware(proof)) write(place, [...known.filter((setting) => setting !== own), own].slice(-MOST));
  else if (known.length > 0) write(place, known);
}

/**
 * After somebody who asked was told of it: where hardware was shown to run none, nobody expects one from here on. What is
 * found where the environment names nothing counts for all; anything else counts for itself.
 */
export function forgetHardware(place: HostFolders, proof: Proof): void {
  if (proof.isInconclusive === true || isByHardware(proof)) return;
  const known = settings(place);
  const own = settingOf(place, "microvm");
  if (own === "" || known.includes(own)) write(place, own === "" ? [] : known.filter((setting) => setting !== own));
}

/** Those under which it was seen. Before anything of this was written, the last proof is all that could say so. */
function settings(place: HostFolders): readonly string[] {
  const value = readJson(fileOf(place));
  if (Array.isArray(value)) return value.filter((each): each is string => typeof each === "string");
  const last = readKept(place, "microvm");
  return last !== null && isByHardware(last.proof) ? [settingOf(place, "microvm")] : [];
}

function write(place: HostFolders, value: readonly string[]): void {
  writeJson(fileOf(place), value);
}

function fileOf(place: HostFolders): string {
  return fileNamed(place, "hardware");
}
