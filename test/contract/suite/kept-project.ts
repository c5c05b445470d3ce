/** What a kept sandbox did to its project, from one start to the next. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { makeProject } from "../../support/project.js";
import type { Contract } from "./contract.js";
import { inStateFolder, startPersistent } from "./kept-subject.js";
import { bootSpec } from "./subject.js";

const synced = { "fs.workspace.mode": "sync" } as const;
const inProject = { cwd: "/workspace" } as const;

export function keptProjectContract(contract: Contract): void {
  const { backend, actor } = contract;
  const { kept } = backend;
  if (kept === undefined) return;

  contract.capability("kept", (test) => {
    contract.needing("workspace-sync", test)(
      "a synced project has the changes after a stop, and the sandbox sees what the host makes of them",
      async () => {
        const project = makeProject(actor, { "a.txt": "a\n", "b.txt": "b\n" });
        const folder = actor.ownFolder("state");
        const spec = bootSpec({ projectDir: project.path, fields: synced });
        await inStateFolder(kept, folder, async () => {
          const first = await startPersistent(kept, spec, folder);
          await first.sh("echo changed > a.txt; echo new > new.txt; rm b.txt", inProject);
          const { carried } = await first.sandbox.stop(1000);
          expect(carried).toMatchObject({
            written: ["a.txt", "new.txt"],
            deleted: ["b.txt"],
            conflicts: [],
            refused: [],
          });
          expect((await kept.lastEnd(folder))?.end.carried).toEqual(carried);
          expect(project.content()).toEqual({ "a.txt": "changed\n", "new.txt": "new\n" });
          writeFileSync(join(project.path, "a.txt"), "the host's\n");
          const second = await startPersistent(kept, spec, folder);
          expect((await second.sh("cat a.txt new.txt; ls", inProject)).stdout).toBe(
            "the host's\nnew\na.txt\nnew.txt\n",
          );
          expect((await second.sandbox.stop(1000)).carried).toMatchObject({ written: [], deleted: [], conflicts: [] });
          expect(project.content()).toEqual({ "a.txt": "the host's\n", "new.txt": "new\n" });
        });
      },
    );

    contract.needing("workspace-sync", test)(
      "one that was killed carries nothing over; the next stop does, and never over what the host changed since",
      async () => {
        const project = makeProject(actor, { "a.txt": "a\n", "b.txt": "b\n" });
        const folder = actor.ownFolder("state");
        const spec = bootSpec({ projectDir: project.path, fields: synced });
        await inStateFolder(kept, folder, async () => {
          const first = await startPersistent(kept, spec, folder);
          await first.sh("echo inside > a.txt; echo inside > b.txt", inProject);
          await first.sandbox.kill();
          expect(project.content()).toEqual({ "a.txt": "a\n", "b.txt": "b\n" });
          writeFileSync(join(project.path, "a.txt"), "the host's\n");
          const second = await startPersistent(kept, spec, folder);
          expect((await second.sandbox.stop(1000)).carried).toMatchObject({ written: ["b.txt"], conflicts: ["a.txt"] });
          expect(project.content()).toEqual({ "a.txt": "the host's\n", "b.txt": "inside\n" });
        });
      },
    );
  });
}
