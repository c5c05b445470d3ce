import { expect, test } from "vitest";
import { resolve } from "../policy/resolve.js";
import { policyOn } from "./allotted-memory.js";

const machine = { memoryMiB: 64 * 1024 };
const usual = resolve({ machine });
const asked = resolve({ machine, flags: [{ origin: "--memory", fields: { "resources.memoryMiB": 8192 } }] });
const virtual = { allotsMemory: true } as const;

test("a virtual machine gets the small default, or what was asked for", () => {
  expect(policyOn(virtual, usual).resources.memoryMiB).toBe(2048);
  expect(policyOn(virtual, usual)).toBe(policyOn(virtual, usual));
  expect(policyOn(virtual, asked).resources.memoryMiB).toBe(8192);
});

test("where memory is a limit, the default stays half of the machine's", () => {
  expect(policyOn({}, usual)).toBe(usual.policy);
  expect(usual.policy.resources.memoryMiB).toBe(32 * 1024);
});
