/** Our own programs in a kept sandbox: the host runs them there beside the sandbox's, which must not replace them. */
import { expect } from "vitest";
import { makeProject } from "../../support/project.js";
import type { Contract } from "./contract.js";
import { adoptPersistent, inStateFolder, startPersistent } from "./kept-subject.js";
import { bootSpec } from "./subject.js";

/**
 * Puts a program that leaves a mark into the place of each of ours, by every way there is: the directory is renamed,
 * removed, linked or mounted over, the programs are renamed, removed, linked over or written to. Says how many it got.
 */
export const replacePrograms = (place: string, mark: string) => `
evil=$(mktemp); printf '#!/bin/sh\\necho "as $(id -u): $*" >>${mark}\\n' >$evil; chmod 755 $evil
mv ${place} ${place}.moved; mkdir -p ${place}
mv ${place} ${place}.moved2 && ln -s ${place}.own ${place} && mkdir -p ${place}.own
mount -t tmpfs none ${place}
for name in ak-entry ak-guest; do
  mv ${place}/$name ${place}/$name.moved
  rm -f ${place}/$name
  ln -sf $evil ${place}/$name
  cp --remove-destination $evil ${place}/$name
  cat $evil >${place}/$name
  cat $evil >/proc/1/exe
done
for name in ak-entry ak-guest; do cmp -s $evil ${place}/$name && echo replaced $name; done
true`;

/** Where backends have our programs, and where they are for the host's own processes. */
export const programPlaces = ["/.agentkernel", "/dev/.agentkernel"];

export function keptProgramsContract(contract: Contract): void {
  const { backend, actor } = contract;
  const { kept } = backend;
  if (kept === undefined) return;

  contract.capability("kept", (test) => {
    test("the host runs none of the sandbox's programs as its own, however they are named", async () => {
      const project = makeProject(actor, { "a.txt": "a\n" });
      const folder = actor.ownFolder("state");
      const mark = "/tmp/replaced";
      const changed = async () => {
        if (kept.changes === undefined) return [];
        const { changes } = await kept.changes.list(folder, { paths: [] });
        return changes.map(({ path }) => path);
      };
      await inStateFolder(kept, folder, async () => {
        const spec = bootSpec({ projectDir: project.path });
        const owned = await startPersistent(kept, spec, folder);
        for (const place of programPlaces) await owned.sh(replacePrograms(place, mark));
        await owned.sh("echo new >new.txt", { cwd: "/workspace" });
        expect(await changed()).toEqual(kept.changes === undefined ? [] : ["new.txt"]);
        owned.sandbox.release();
        const adopted = await adoptPersistent(kept, folder);
        expect(await adopted.sh(`cat ${mark}; echo works`)).toMatchObject({ stdout: "works\n" });
        await adopted.sandbox.stop(1000);
        expect(await changed()).toEqual(kept.changes === undefined ? [] : ["new.txt"]);
        const again = await startPersistent(kept, spec, folder);
        expect(await again.sh("cat /workspace/new.txt")).toMatchObject({ stdout: "new\n" });
      });
    });
  });
}
