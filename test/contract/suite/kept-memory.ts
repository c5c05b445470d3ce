/** Copies of kept sandboxes that have what was in memory: what ran goes on in them, and each is one of its own. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { BootSpec, PersistentBackend, SandboxCopy } from "../../../src/core/backend.js";
import { makeProject } from "../../support/project.js";
import type { Contract } from "./contract.js";
import { inStateFolder, type Owned, startPersistent } from "./kept-subject.js";
import { bootSpec } from "./subject.js";

/** A number that is in memory alone, and goes up. */
const COUNTER =
  "n=0; while :; do n=$((n+1)); echo $n > /dev/shm/new; mv /dev/shm/new /dev/shm/n; echo $n; sleep 0.1; done";
const FACTS =
  "cat /proc/sys/kernel/random/boot_id /etc/machine-id /etc/hostname; hostname; head -c 16 /dev/urandom | od -An -tx1";

export function keptMemoryContract(contract: Contract): void {
  const { backend, actor } = contract;
  const { kept } = backend;
  if (kept?.copies?.of !== "files and memory") return;
  const { copies } = kept;
  const folders = <T>(count: number, use: (...all: string[]) => Promise<T>) =>
    inFolders(
      kept,
      Array.from({ length: count }, () => actor.ownFolder("state")),
      use,
    );

  contract.capability("snapshot", (test) => {
    test("what runs goes on in copies that have its memory, each of which is another machine", async () => {
      await folders(5, async (from = "", saved = "", one = "", two = "", three = "") => {
        const first = await startPersistent(kept, bootSpec({}), from);
        const counter = await first.start(["sh", "-c", COUNTER], { key: "counter" });
        await first.start(["sh", "-c", "exec sleep 4207"]);
        await counter.until(/^5$/m);
        await first.sh("echo on disk > /opt/file");
        const before = await count(first);
        const savedAt = Date.now() / 1000;
        expect((await copied(kept, first, from, saved)).memory).toBe(true);
        expect((await stat(join(saved, "disk/machine/memory"))).mode & 0o777).toBe(0o600);
        const goesOn = await count(first);
        expect(await higher(first, goesOn)).toBe(true);

        for (const into of [one, two]) expect((await copies.make(saved, into)).memory).toBe(true);
        const copy = await startPersistent(kept, named("one"), one);
        const other = await startPersistent(kept, named("two"), two);
        for (const each of [copy, other]) {
          const at = await count(each);
          expect(at).toBeGreaterThanOrEqual(before);
          expect(await higher(each, at)).toBe(true);
          // What belonged to a host's connection ended with it.
          expect((await each.sh("cat /opt/file; pgrep -f '[s]leep 4207' | wc -l")).stdout).toBe("on disk\n0\n");
          // A clock that nobody had set would be late by all the time since it was saved.
          const asked = Date.now() / 1000;
          const inside = Number((await each.sh("date +%s.%N")).stdout);
          expect(asked - inside).toBeLessThan(1 + (asked - savedAt) / 2);
        }
        const taken = await copy.attach("counter");
        await taken.until(/^\d+\n\d+\n/m);
        await copied(kept, other, two, three);
        const last = await startPersistent(kept, named("three"), three);
        expect(await higher(last, before)).toBe(true);
        const all = await Promise.all(
          [first, copy, other, last].map(async (each) => (await each.sh(FACTS)).stdout.split("\n")),
        );
        for (const line of [0, 1, 2, 3, 4]) expect(new Set(all.map((lines) => lines[line])).size).toBe(4);
        expect(all.slice(1).map((lines) => lines.slice(2, 4))).toEqual([
          ["one", "one"],
          ["two", "two"],
          ["three", "three"],
        ]);
        expect((await first.sh("pgrep -f '[s]leep 4207' | wc -l")).stdout).toBe("1\n");

        await copy.sh("echo changed > /opt/file; sync");
        expect((await other.sh("cat /opt/file")).stdout).toBe("on disk\n");
        await copy.sandbox.stop(1000);
        const again = await startPersistent(kept, named("one"), one);
        expect((await again.sh("cat /opt/file; ls /dev/shm; pgrep -f '[d]ev/shm/new' | wc -l")).stdout).toBe(
          "changed\n0\n",
        );
      });
    });

    test("files alone can be had of what was saved with its memory, and what it was saved with must be there", async () => {
      await folders(3, async (from = "", saved = "", into = "") => {
        const { path: projectDir } = makeProject(actor, { "a.txt": "a\n" });
        const first = await startPersistent(kept, bootSpec({ projectDir }), from);
        await first.sh("echo on disk > /opt/file; echo in memory > /dev/shm/file");
        await copied(kept, first, from, saved);
        await givenUp(first, join(from, "disk/machine/memory"));
        // Whoever looked into the disk would change it.
        await expect(kept.changes?.list(saved, { paths: [] })).rejects.toMatchObject({ hint: "start it first" });
        const fields = { "resources.pids": 77 };
        await expect(kept.start(bootSpec({ projectDir, fields }), saved)).rejects.toMatchObject({
          message: expect.stringContaining("limits or its policy"),
          hint: expect.stringContaining("--no-memory"),
        });
        expect((await copies.make(saved, into, undefined, { isWanted: false, held: null })).memory ?? false).toBe(
          false,
        );
        const files = await startPersistent(kept, bootSpec({ projectDir }), into);
        expect((await files.sh("cat /opt/file; ls /dev/shm")).stdout).toBe("on disk\n");
      });
    });
  });
}

/** Of one that runs, with its memory. */
async function copied(
  { copies }: PersistentBackend,
  { sandbox }: Owned,
  from: string,
  into: string,
): Promise<SandboxCopy> {
  const held = await sandbox.hold?.();
  if (copies === undefined || held === undefined) throw new Error("its memory cannot be saved");
  try {
    return await copies.make(from, into, undefined, { isWanted: true, held });
  } finally {
    await held.letGo();
  }
}

/** While it is being saved: nothing of it is left in the file, and it goes on. */
async function givenUp(owned: Owned, memory: string): Promise<void> {
  const giving = new AbortController();
  const holding = owned.sandbox.hold?.(giving.signal);
  await expect.poll(async () => (await stat(memory)).size, { interval: 2 }).toBeGreaterThan(0);
  giving.abort();
  // All of it may have been saved by then.
  await (await holding?.catch(() => null))?.letGo();
  expect((await owned.sh("echo goes on")).stdout).toBe("goes on\n");
  expect((await stat(memory)).size).toBe(0);
}

function named(name: string): BootSpec {
  return { ...bootSpec({}), id: name, hostname: name };
}

async function count(owned: Owned): Promise<number> {
  const { stdout, stderr } = await owned.sh("cat /dev/shm/n");
  expect(stderr).toBe("");
  return Number(stdout);
}

/** Waits for it: a counter that has stopped is found by the test's own end. */
async function higher(owned: Owned, than: number): Promise<boolean> {
  return (await owned.sh(`until test "$(cat /dev/shm/n)" -gt ${than}; do sleep 0.1; done`)).code === 0;
}

async function inFolders<T>(
  kept: PersistentBackend,
  [folder, ...rest]: readonly string[],
  use: (...all: string[]) => Promise<T>,
): Promise<T> {
  if (folder === undefined) return await use();
  return await inStateFolder(kept, folder, () => inFolders(kept, rest, (...all) => use(folder, ...all)));
}
