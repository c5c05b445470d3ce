import { expect, test } from "vitest";
import type { OutputSink } from "../guest/index.js";
import { resolve } from "../policy/resolve.js";
import { FullDisk, fullDiskRemark } from "./full-disk.js";

function seen(...chunks: readonly string[]): boolean {
  const full = new FullDisk();
  const passed: string[] = [];
  const sink: OutputSink = { write: (chunk) => passed.push(chunk.toString()), end: () => {} };
  const watched = full.watch(sink);
  for (const chunk of chunks) watched.write(Buffer.from(chunk), () => {});
  expect(passed).toEqual(chunks);
  return full.isSeen;
}

test("what programs say of a full disk is seen, wherever a chunk ends", () => {
  expect(seen("dd: error writing 'x': No space left on device\n")).toBe(true);
  expect(seen("cp: No space le", "ft on device")).toBe(true);
  expect(seen("Error: ENOSPC: no space left on device, write")).toBe(true);
  expect(seen(`${"x".repeat(5000)}OSError: [Errno 122] Disk quota exceeded`)).toBe(true);
});

test("nothing else is", () => {
  expect(seen("no space left in the car park\n", "NO_ENOSPC_HERE", "all is well")).toBe(false);
});

test("it says how much there was and what makes it more", () => {
  const policy = (fields: object) => resolve({ flags: [{ origin: "the test", fields }] }).policy;
  const small = policy({ "resources.diskMiB": 10, "resources.memoryMiB": 1024 });
  expect(fullDiskRemark(small, 10)).toMatch(/the disk limit of 10 MiB, .* raise it with --disk$/);
  expect(fullDiskRemark(policy({ "resources.diskMiB": 4096, "resources.memoryMiB": 1024 }), 768)).toMatch(
    /has 768 MiB, since .* memory of 1024 MiB, .* raise it with --memory$/,
  );
});
