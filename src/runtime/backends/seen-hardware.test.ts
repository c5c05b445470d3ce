import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { failing, inconclusiveAfter, working } from "./proof.js";
import { recall, remember } from "./proof-cache.js";
import { forgetHardware, hasSeenHardware, rememberHardware } from "./seen-hardware.js";

const byHardware = working("booted", { kind: "qemu", accelerator: "kvm" });

let folder: string;
const place = (variables: Record<string, string> = {}) => ({
  env: { XDG_STATE_HOME: folder, ...variables },
  homeDir: folder,
});
const odd = () => place({ AGENTKERNEL_KERNEL: "/odd" });
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hardware-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

it("is what a proof by hardware says, and outlives a failure", () => {
  remember(place(), "microvm", "one", working("booted", { kind: "qemu", accelerator: "tcg" }));
  expect(hasSeenHardware(place())).toBe(false);
  remember(place(), "microvm", "one", byHardware);
  remember(place(), "microvm", "one", failing("no", null));
  expect([hasSeenHardware(place()), hasSeenHardware(odd())]).toEqual([true, true]);
});

it("is taken back for what was named alone, and for all where nothing was", () => {
  rememberHardware(place(), byHardware);
  rememberHardware(odd(), byHardware);
  forgetHardware(odd(), failing("no", null));
  expect(hasSeenHardware(place())).toBe(true);
  rememberHardware(odd(), byHardware);
  forgetHardware(place(), failing("no", null));
  expect(hasSeenHardware(odd())).toBe(false);
});

it.each([
  ["it was shown once more", byHardware],
  ["nothing could be told", inconclusiveAfter(new Error("no room"))],
])("is not taken back where %s", (_, proof) => {
  rememberHardware(place(), byHardware);
  forgetHardware(place(), proof);
  expect(hasSeenHardware(place())).toBe(true);
});

it("and proofs of an engine that a variable names lie apart from the usual one's", () => {
  remember(place(), "microvm", "one", byHardware);
  remember(odd(), "microvm", "two", failing("no", null));
  expect(recall(place(), "microvm", "one")).toEqual(byHardware);
  expect(recall(odd(), "microvm", "two")).toMatchObject({ works: false });
  expect(recall(odd(), "microvm", "one")).toBeNull();
});

it("is what the last proof says where nothing else was written yet, until it is taken back", () => {
  remember(place(), "microvm", "one", byHardware);
  rmSync(join(folder, "agentkernel", "proofs", "hardware.json"));
  remember(place(), "microvm", "one", failing("no", null));
  expect(hasSeenHardware(place())).toBe(true);
  forgetHardware(place(), failing("no", null));
  expect(hasSeenHardware(place())).toBe(false);
});

it.each(["", "{}", "[1]"])("is not what a file says that holds %j", (text) => {
  rememberHardware(place(), byHardware);
  writeFileSync(join(folder, "agentkernel", "proofs", "hardware.json"), text);
  expect(hasSeenHardware(place())).toBe(false);
});
