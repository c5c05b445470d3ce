/**
 * kill -9 of each process around a kept sandbox, at many moments of its start and of its end (each step of them is in
 * sandboxes.test.ts, with a daemon as the owner). Whatever dies, the next owner finds a running sandbox or none, never half of one; nothing is left of what died; and it can be started again with
 * everything that it had written.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PersistentBackend, PersistentSandbox } from "../../src/core/backend.js";
import {
  adoptPersistent,
  guestOf,
  inStateFolder,
  Owned,
  startPersistent,
  supervisorOf,
} from "../contract/suite/kept-subject.js";
import { bootSpec } from "../contract/suite/subject.js";
import { type Actor, actors } from "../support/actors.js";
import { leaksSince, traces } from "../support/leaks.js";
import { linuxBackendOf, linuxProgramsOf } from "../support/linux-backend.js";
import { OwnerProcess } from "../support/owner-process.js";
import { awaitGuest, killNow, spinMs } from "../support/process-tree.js";
import { makeProject } from "../support/project.js";

const startDelaysMs = Array.from({ length: 8 }, (_, at) => at * 1.5);
const endDelaysMs = [0, 0.5, 1, 2, 3, 4, 6, 8];

describe.each(actors)("as $name", (actor) => {
  const { kept } = linuxBackendOf(actor);
  if (kept === undefined) throw new Error("the backend keeps sandboxes");
  const project = makeProject(actor, { "a.txt": "a\n", ".git/config": "[core]\n" });
  const spec = () => bootSpec({ projectDir: project.path });

  describe.each(["supervisor", "first process"] as const)("kill -9 of the %s", (victim) => {
    it("while the sandbox starts", async () => {
      for (const delayMs of startDelaysMs) {
        await survive(actor, kept, `${delayMs} ms into the start`, async (folder) => {
          const started = kept.start(spec(), folder).catch((error: unknown) => {
            expect(error, `${delayMs} ms`).toMatchObject({ code: expect.stringMatching(/^sandbox_/) });
            return null;
          });
          await strikeAtStart(folder, victim, delayMs);
          return await started;
        });
      }
    });

    it("while the sandbox ends", async () => {
      for (const delayMs of endDelaysMs) {
        await survive(actor, kept, `${delayMs} ms into the end`, async (folder) => {
          const sandbox = await kept.start(spec(), folder);
          const [supervisor, guest] = [supervisorOf(folder), guestOf(folder)];
          const stopped = sandbox.stop(1000).then(
            (end) => expect(end.code === 0 || end.signal === 9).toBe(true),
            (error: unknown) => expect(error).toMatchObject({ code: "sandbox_died" }),
          );
          await new Promise((resolve) => setImmediate(resolve));
          spinMs(delayMs);
          killNow(victim === "supervisor" ? supervisor : guest);
          await stopped;
          return null;
        });
      }
    });
  });

  it("kill -9 of its owner while the sandbox starts", async () => {
    for (const delayMs of [0, 1, 2, 4, 6, 8, 12, 16, 24, 32]) {
      await survive(actor, kept, `${delayMs} ms into the start`, async (folder) => {
        const owner = new OwnerProcess({
          programs: linuxProgramsOf(actor),
          spec: spec(),
          stateDir: folder,
          key: "k",
          script: "echo ready; read go",
        });
        await awaitFile(join(folder, "lock"));
        spinMs(delayMs);
        await owner.kill();
        return null;
      });
    }
  });
});

/** Whatever `kill` left: the next owner finds it whole or not at all. */
async function survive(
  actor: Actor,
  kept: PersistentBackend,
  step: string,
  kill: (folder: string) => Promise<PersistentSandbox | null>,
): Promise<void> {
  const before = traces();
  const folder = actor.ownFolder("state");
  await inStateFolder(kept, folder, async () => {
    await writeMark(kept, folder);
    const left = await kill(folder);
    left?.release();
    const owned = (await adoptWhole(kept, folder)) ?? (await startPersistent(kept, bootSpec({}), folder));
    expect((await owned.sh("cat /opt/mark")).stdout, step).toBe("mark\n");
    await owned.sandbox.kill();
  });
  expect(await leaksSince(before), step).toEqual([]);
}

/** One that is found may have got its signal and not died of it yet; then its owner is told of its end. */
async function adoptWhole(kept: PersistentBackend, folder: string): Promise<Owned | null> {
  const found = await kept.adopt(folder);
  if (found === null) return null;
  return await Owned.of(found).catch(async (error: unknown) => {
    expect(error).toMatchObject({ code: "sandbox_died" });
    expect(await found.over).toMatchObject({ how: "ended", end: { signal: 9 } });
    return null;
  });
}

async function writeMark(kept: PersistentBackend, folder: string): Promise<void> {
  const owned = await startPersistent(kept, bootSpec({}), folder);
  await owned.sh("echo mark > /opt/mark");
  await owned.sandbox.stop(1000);
  await expect(adoptPersistent(kept, folder)).rejects.toThrow("nothing runs");
}

async function strikeAtStart(folder: string, victim: "supervisor" | "first process", delayMs: number): Promise<void> {
  const before = supervisorOf(folder);
  await awaitChange(() => supervisorOf(folder) !== before && supervisorOf(folder) > 0);
  const supervisor = supervisorOf(folder);
  if (victim === "supervisor") {
    spinMs(delayMs);
    killNow(supervisor);
    return;
  }
  const guest = awaitGuest(supervisor);
  spinMs(delayMs);
  killNow(guest);
}

function awaitFile(path: string): Promise<void> {
  return awaitChange(() => existsSync(path));
}

/** Looks again and again within the event loop, which has to start what is looked for. */
async function awaitChange(happened: () => boolean): Promise<void> {
  for (const until = Date.now() + 30_000; Date.now() < until; ) {
    if (happened()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error("it did not happen");
}
