import { type fsync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DiskSyncs } from "./disk-syncs.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentkernel-syncs-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A disk that takes a file when told to. */
class SlowDisk {
  readonly waiting: ((error: Error | null) => void)[] = [];
  taken = 0;
  readonly sync = ((_fd: number, done: (error: Error | null) => void) => {
    this.waiting.push(done);
  }) as typeof fsync;

  async take(error: Error | null = null): Promise<void> {
    this.taken++;
    this.waiting.shift()?.(error);
    await new Promise(setImmediate);
  }
}

const fileNamed = (name: string) => {
  writeFileSync(join(folder, name), "x");
  return join(folder, name);
};

test("what is asked for while the disk is at it is one more time for it, and done after that", async () => {
  const [disk, syncs, path] = [new SlowDisk(), new DiskSyncs(), fileNamed("a")];
  for (let times = 0; times < 100; times++) syncs.ask(path, disk.sync);
  let isDone = false;
  const done = syncs.done().then(() => {
    isDone = true;
  });
  expect(disk.waiting).toHaveLength(1);
  await disk.take();
  expect([isDone, disk.waiting.length]).toEqual([false, 1]);
  await disk.take();
  await done;
  expect(disk.waiting).toEqual([]);
});

test("who waits is not held up by what is asked for later", async () => {
  const [disk, syncs, path] = [new SlowDisk(), new DiskSyncs(), fileNamed("a")];
  syncs.ask(path, disk.sync);
  const done = syncs.done();
  syncs.ask(path, disk.sync);
  await disk.take();
  await done;
  expect(disk.waiting).toHaveLength(1);
  await disk.take();
});

test("a failure is told, and the next file is taken", async () => {
  const [disk, syncs] = [new SlowDisk(), new DiskSyncs()];
  syncs.ask(fileNamed("a"), disk.sync);
  syncs.ask(fileNamed("b"), disk.sync);
  const told = expect(syncs.done()).rejects.toThrow("EIO");
  await disk.take(new Error("EIO"));
  await disk.take();
  await told;
  expect(disk.taken).toBe(2);
});

test("a file that is gone needs no disk", async () => {
  const [disk, syncs] = [new SlowDisk(), new DiskSyncs()];
  syncs.ask(join(folder, "gone"), disk.sync);
  await syncs.done();
  expect(disk.waiting).toEqual([]);
});
