/**
 * That hardware has run a virtual machine here, kept apart from what the last proof says: a failure in between is told
 * and looked at again, and does not turn machines off unnoticed. Only `doctor` takes it back, aloud.
 */
import { isByHardware, type Proof } from "./proof.js";
import { fileNamed, type Place, readJson, settingOf, writeJson } from "./proof-place.js";

/** More ways to name an engine than anybody uses. */
const MOST = 16;

/** One small file to look at. */
export function hasSeenHardware(place: Place): boolean {
  return settings(place).length > 0;
}

export function seeHardware(place: Place): void {
  const known = settings(place);
  const own = settingOf(place, "microvm");
  if (!known.includes(own)) write(place, [...known, own].slice(-MOST));
}

/**
 * After somebody who asked was told of it: where hardware was shown to run none, nobody expects one from here on. What is
 * found where the environment names nothing counts for all; anything else counts for itself.
 */
export function heedToldProof(place: Place, proof: Proof): void {
  if (proof.isUntold === true || isByHardware(proof)) return;
  const known = settings(place);
  const own = settingOf(place, "microvm");
  const left = own === "" ? [] : known.filter((setting) => setting !== own);
  if (left.length < known.length) write(place, left);
}

/** Those under which it was seen. */
function settings(place: Place): readonly string[] {
  const value = readJson(fileOf(place));
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : [];
}

function write(place: Place, value: readonly string[]): void {
  writeJson(fileOf(place), value);
}

function fileOf(place: Place): string {
  return fileNamed(place, "hardware");
}
