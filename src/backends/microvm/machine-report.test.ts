import { expect, test } from "vitest";
import { machineEnd } from "./machine-report.js";

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
