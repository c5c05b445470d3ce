/** Copies of what kept sandboxes have written: what snapshots and forks are made of. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { makeProject } from "../../support/project.js";
import type { Contract } from "./contract.js";
import { inStateFolder, startPersistent } from "./kept-subject.js";
import { bootSpec } from "./subject.js";

const inProject = { cwd: "/workspace" } as const;

export function keptCopiesContract(contract: Contract): void {
  const { backend, actor } = contract;
  const { kept } = backend;
  if (kept === undefined) return;
  const { copies } = kept;
  const within = (use: (from: string, into: string) => Promise<void>) => {
    const [from, into] = [actor.ownFolder("state"), actor.ownFolder("state")];
    return inStateFolder(kept, from, () => inStateFolder(kept, into, () => use(from, into)));
  };

  contract.capability("snapshot", (test) => {
    if (copies === undefined) throw new Error(`${backend.name} lacks snapshot and does not say so`);

    test("a copy has all that was written, and neither side sees what the other writes later", async () => {
      const project = makeProject(actor, { "a.txt": "a\n", "b.txt": "b\n", "sub/c.txt": "c\n", "d.txt": "d\n" });
      await within(async (from, into) => {
        const spec = bootSpec({ projectDir: project.path });
        const first = await startPersistent(kept, spec, from);
        const made = await first.sh(
          "mkdir /data; echo root > /data/one; ln /data/one /data/two; ln -s /etc/shadow /data/out; rm -r sub; rm b.txt; echo changed > a.txt; echo new > new.txt; chmod 751 new.txt; truncate -s 48m /data/holes; find new.txt -printf '%T@' | cut -d. -f1",
          inProject,
        );
        expect(made).toMatchObject({ stderr: "", code: 0 });
        await first.sandbox.stop(1000);
        const copied = await copies.make(from, into);
        expect(copied.bytes ?? 0).toBeLessThan(49 << 20);
        const again = await startPersistent(kept, spec, from);
        await again.sh("echo later > /data/one; echo later > a.txt", inProject);
        const copy = await startPersistent(kept, { ...spec, id: "copy", hostname: "copy" }, into);
        const found = await copy.sh(
          "cat /data/one a.txt new.txt; ls; readlink /data/out; test /data/one -ef /data/two && echo linked; find new.txt /data/holes -printf '%m %s\\n'; hostname; find new.txt -printf '%T@' | cut -d. -f1",
          inProject,
        );
        const facts = "root\nchanged\nnew\na.txt\nd.txt\nnew.txt\n/etc/shadow\nlinked\n751 4\n644 50331648\ncopy\n";
        expect(found).toMatchObject({ stderr: "", stdout: facts + made.stdout });
        await copy.sh("echo copy > /data/one; echo copy > own.txt", inProject);
        expect((await again.sh("cat /data/one /data/two a.txt; ls", inProject)).stdout).toBe(
          "later\nlater\nlater\na.txt\nd.txt\nnew.txt\n",
        );
      });
    });

    test("what a copy changed in the project is told from the same beginning", async () => {
      const project = makeProject(actor, { "a.txt": "a\n", "b.txt": "b\n", "same.txt": "s\n", "host.txt": "h\n" });
      await within(async (from, into) => {
        const spec = bootSpec({ projectDir: project.path });
        const first = await startPersistent(kept, spec, from);
        await first.sh("echo changed > a.txt; rm b.txt", inProject);
        await first.sandbox.stop(1000);
        await copies.make(from, into);
        writeFileSync(join(project.path, "host.txt"), "the host's\n");
        const copy = await startPersistent(kept, { ...spec, id: "copy", hostname: "copy" }, into);
        await copy.sh("echo new > new.txt", inProject);
        // An engine's copy does not know that it never changed what the host has changed since: to it that is a conflict.
        const changed = async (folder: string) =>
          (await kept.changes?.list(folder, { paths: [] }))?.changes
            .filter(({ conflict }) => conflict === null)
            .map(({ change, path }) => `${change} ${path}`)
            .sort();
        expect(await changed(into)).toEqual(["added new.txt", "deleted b.txt", "modified a.txt"]);
        expect(await changed(from)).toEqual(["deleted b.txt", "modified a.txt"]);
        await copy.sandbox.stop(1000);
        expect(await changed(into)).toEqual(["added new.txt", "deleted b.txt", "modified a.txt"]);
      });
    });

    test("a copy of a copy, of one that never ran, and of one whose original is gone", async () => {
      const original = actor.ownFolder("state");
      await within(async (copied, again) => {
        await inStateFolder(kept, original, async () => {
          const first = await startPersistent(kept, bootSpec({}), original);
          await first.sh("echo root > /opt/file");
          await first.sandbox.stop(1000);
          await copies.make(original, copied);
        });
        await copies.make(copied, again);
        await kept.remove(copied);
        const last = await startPersistent(kept, bootSpec({}), again);
        expect((await last.sh("cat /opt/file")).stdout).toBe("root\n");
      });
    });

    contract.needing("pause", test)("one that runs is copied while it is paused, and goes on", async () => {
      await within(async (from, into) => {
        const first = await startPersistent(kept, bootSpec({}), from);
        await first.sh("echo before > /opt/file");
        const writer = await first.start(["sh", "-c", "while :; do date +%N >> /opt/log; echo x; done"]);
        await writer.until(/x/);
        await first.sandbox.pause();
        await copies.make(from, into);
        await first.sandbox.resume();
        expect((await first.sh("cat /opt/file")).stdout).toBe("before\n");
        const copy = await startPersistent(kept, bootSpec({}), into);
        expect((await copy.sh("cat /opt/file; test -s /opt/log && echo some")).stdout).toBe("before\nsome\n");
      });
    });
  });
}
