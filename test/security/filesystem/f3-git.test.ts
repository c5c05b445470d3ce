/** Git of the host reads configuration in the project and does what it says. No form of the project lets a sandbox write any. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { outlastClockTick } from "../../support/project.js";
import { runOutside } from "../support/fs-attack.js";
import { snapshot } from "../support/fs-tree.js";
import { type GitAttack, gitAttacks, isMarkedByGit, makeRepository, markOf, scriptOf } from "../support/git-attack.js";
import { applyFrom, runWith } from "../support/git-carried.js";

/** The project after an attack: with a change that was to be taken over, and without what leads git away. */
async function expectUnmarked(actor: Actor, attack: GitAttack, mark: string, project: string): Promise<void> {
  expect(readFileSync(join(project, "code.txt"), "utf8")).toBe("changed\n");
  expect(await isMarkedByGit(actor, join(project, attack.startedIn), mark)).toBe(false);
}

describe.each(actors)("F3 git of the host runs nothing of a sandbox's, as $name", (actor) => {
  describe.each(gitAttacks)("$name", (attack) => {
    it("works without a sandbox", async () => {
      const [project, mark] = [await makeRepository(actor), markOf(actor)];
      expect(await isMarkedByGit(actor, join(project, attack.startedIn), mark)).toBe(false);
      await runOutside(actor, ["sh", "-c", scriptOf(attack, mark)], project);
      expect(await isMarkedByGit(actor, join(project, attack.startedIn), mark)).toBe(true);
    });

    it("is not carried over by sync", async () => {
      const [project, mark] = [await makeRepository(actor), markOf(actor)];
      outlastClockTick();
      await runWith(actor, "sync", scriptOf(attack, mark), project);
      await expectUnmarked(actor, attack, mark, project);
      expect(await runOutside(actor, ["git", "log"], project)).toMatchObject({ status: 0 });
    });

    it("is not applied", async () => {
      const [project, mark] = [await makeRepository(actor), markOf(actor)];
      outlastClockTick();
      await applyFrom(actor, scriptOf(attack, mark), project);
      await expectUnmarked(actor, attack, mark, project);
      expect(await runOutside(actor, ["git", "log"], project)).toMatchObject({ status: 0 });
    });

    if (attack.isBeyondMount) {
      it("in a live workspace is passed over by git with safe.bareRepository", async () => {
        const [project, mark] = [await makeRepository(actor), markOf(actor)];
        await runWith(actor, "mount", scriptOf(attack, mark), project);
        const folder = join(project, attack.startedIn);
        expect(await isMarkedByGit(actor, folder, mark, ["-c", "safe.bareRepository=explicit"])).toBe(false);
        expect(await isMarkedByGit(actor, folder, mark)).toBe(true);
      });
    } else {
      it("fails in a live workspace", async () => {
        const [project, mark] = [await makeRepository(actor), markOf(actor)];
        await runWith(actor, "mount", scriptOf(attack, mark), project);
        await expectUnmarked(actor, attack, mark, project);
      });
    }
  });

  it("is not put together by several runs", async () => {
    const [project, mark] = [await makeRepository(actor), markOf(actor)];
    const whole: GitAttack = { name: "", script: "repository src", startedIn: "src" };
    outlastClockTick();
    await runWith(actor, "sync", `${scriptOf(whole, mark)}; rm src/HEAD`, project);
    await runWith(actor, "sync", "echo 'ref: refs/heads/main' > src/HEAD", project);
    await expectUnmarked(actor, whole, mark, project);
  });

  it("a live workspace is left as it was found", async () => {
    const project = await makeRepository(actor);
    const before = snapshot(project);
    const script = "cat commondir nested/commondir nested/.git/commondir bare/commondir > /dev/null";
    await runWith(actor, "mount", script, project);
    expect(snapshot(project)).toEqual(before);
  });

  it("commits of a sandbox's are carried over", async () => {
    const project = await makeRepository(actor);
    outlastClockTick();
    const script =
      "git config --global --add safe.directory '*'; git switch -q -c other; echo more >> code.txt; git commit -q -a -m second";
    await runWith(actor, "sync", script, project);
    const log = await runOutside(actor, ["git", "log", "--format=%s %D"], project);
    expect(log).toMatchObject({ status: 0, stdout: "second HEAD -> other\nfirst tree, main\n" });
  });
});
