import { expect, test } from "vitest";
import { continuedLayers, machineEnd, machineLayers } from "./machine-report.js";
import type { MachineShape } from "./shape.js";

const end = { code: null, signal: 9, oomKills: 0, pidsDenied: 0, memoryPeakBytes: 200 << 20, cpuUs: 1, carried: null };

test("the machine's own words about memory are counted, and not told as its last", () => {
  const told = "ak-vmm: out of memory in the machine\nak-vmm: out of memory in the machine\n";
  expect(machineEnd({ ...end, said: told }, { memoryMib: 128 })).toEqual({
    ...end,
    oomKills: 2,
    memoryPeakBytes: 128 << 20,
  });
});

test("what else was said stays", () => {
  const said = "ak-vmm: out of memory in the machine\nKernel panic - not syncing: why";
  const { said: words, oomKills } = machineEnd({ ...end, said }, { memoryMib: 256 });
  expect([words, oomKills]).toEqual(["Kernel panic - not syncing: why", 1]);
});

test("a limit of memory that is below what a machine needs is said not to hold", () => {
  const shape = { monitor: { kind: "qemu", accelerator: "kvm" } } as MachineShape;
  expect(machineLayers(shape, { memoryMiB: 128 }, [], []).map(({ name }) => name)).toEqual(["virtual machine"]);
  expect(machineLayers(shape, { memoryMiB: 64 }, [], [])).toContainEqual({
    name: "memory limit",
    state: "partial",
    detail: "a machine has at least 128 MiB, not 64",
  });
});

test("a machine that goes on has the jail that it is in now, and the walls that stood inside", () => {
  const shape = { monitor: { kind: "qemu", accelerator: "tcg" }, memoryMib: 512 } as MachineShape;
  const inside = [{ name: "seccomp", state: "applied" }] as const;
  const original = machineLayers(shape, { memoryMiB: 512 }, [{ name: "cgroup", state: "applied" }], inside);
  const now = continuedLayers(shape, [{ name: "cgroup", state: "absent", detail: "why" }], original);
  expect(now.map(({ name, state }) => `${name}: ${state}`)).toEqual([
    "virtual machine: partial",
    "cgroup around the machine: absent",
    "seccomp: applied",
  ]);
});
