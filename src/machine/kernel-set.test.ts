import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findKernelSet, parseDescription, readKernelSet, verifyKernelSet } from "./kernel-set.js";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const description = {
  version: 1,
  name: "6.1.0-test",
  acpi: true,
  commandLine: "quiet panic=-1",
  kernelSha256: sha256("a kernel"),
  modulesSha256: null as string | null,
};

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "agentkernel-kernels-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function place(name: string, change: object = {}): string {
  const folder = join(home, ".local/share/agentkernel/kernels", name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "kernel"), "a kernel");
  writeFileSync(join(folder, "kernel.json"), JSON.stringify({ ...description, ...change }));
  return folder;
}

describe("the kernel of machines", () => {
  it("is our own where it is there, then the distribution's, and a folder that is named goes before both", () => {
    const debian = place("debian", { name: "6.1.0-debian" });
    expect(findKernelSet({}, home)).toMatchObject({ name: "6.1.0-debian", folder: debian, modules: null, acpi: true });
    place("agentkernel");
    expect(findKernelSet({}, home).name).toBe("6.1.0-test");
    expect(findKernelSet({ AGENTKERNEL_KERNEL: debian }, home).name).toBe("6.1.0-debian");
  });

  it("that is not there is told with what to do", () => {
    expect(() => findKernelSet({}, home)).toThrow("there is no kernel for virtual machines here");
    expect(() => findKernelSet({ AGENTKERNEL_KERNEL: "here" }, home)).toThrow("not an absolute path");
    expect(() => findKernelSet({ AGENTKERNEL_KERNEL: join(home, "none") }, home)).toThrow("which has no kernel.json");
    const folder = place("debian", { modulesSha256: sha256("drivers") });
    expect(() => readKernelSet(folder)).toThrow("modules.cpio is missing");
  });

  it("has another digest with another command line", () => {
    const digestOf = (change: object) => readKernelSet(place("debian", change))?.digest;
    expect(digestOf({})).toBe(digestOf({ name: "renamed" }));
    expect(digestOf({})).not.toBe(digestOf({ commandLine: "quiet" }));
  });

  it("is held against its digests when it is asked for", async () => {
    const folder = place("debian");
    const set = readKernelSet(folder);
    if (set === null) throw new Error("it is there");
    await verifyKernelSet(set);
    writeFileSync(join(folder, "kernel"), "a Kernel");
    await expect(verifyKernelSet(set)).rejects.toThrow(/kernel has the digest [0-9a-f]{64}, and kernel\.json says/);
  });
});

it.each([
  ["text", "it is not JSON"],
  ["[]", "it is no object"],
  [JSON.stringify({ ...description, extra: 1 }), "extra is not known"],
  [JSON.stringify({ ...description, version: 2 }), "version must be 1"],
  [JSON.stringify({ ...description, name: "" }), "name must be a text"],
  [JSON.stringify({ ...description, acpi: "on" }), "acpi must be true or false"],
  [JSON.stringify({ ...description, commandLine: "a\nb" }), "commandLine must be one line"],
  [JSON.stringify({ ...description, kernelSha256: "12" }), "kernelSha256 must have 64"],
  [JSON.stringify({ ...description, modulesSha256: 1 }), "modulesSha256 must have 64"],
])("%s is refused: %s", (text, reason) => {
  expect(() => parseDescription(text, "/k")).toThrow(reason);
});
