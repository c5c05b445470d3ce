/** Git of the host reads configuration in the project and does what it says. No form of the project lets a sandbox write any. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { inStateFolder, startPersistent } from "../../contract/suite/kept-subject.js";
import { bootSpec } from "../../contract/suite/subject.js";
import { type Actor, actors } from "../../support/actors.js";
import { backendOf } from "../../support/backend-of.js";
import { outlastClockTick } from "../../support/project.js";
import { runIn } from "../../support/run-cli.js";
import { runOutside } from "../support/fs-attack.js";
import { snapshot } from "../support/fs-tree.js";
import { type GitAttack, gitAttacks, isMarkedByGit, makeRepository, markOf, scriptOf } from "../support/git-attack.js";

async function run(actor: Actor, form: string, script: string, project: string): Promise<void> {
  const result = await runIn(actor, ["--workspace", form, "sh", "-c", script], { cwd: project });
  expect(result).toMatchObject({ status: 0 });
}

async function apply(actor: Actor, script: string, project: string): Promise<void> {
  const { kept } = backendOf(actor);
  if (kept?.changes === undefined) throw new Error("the backend tells changes");
  const { changes } = kept;
  const folder = actor.ownFolder("state");
  await inStateFolder(kept, folder, async () => {
    const owned = await startPersistent(kept, bootSpec({ projectDir: project }), folder);
    expect(await owned.sh(script, { cwd: "/workspace" })).toMatchObject({ code: 0 });
    await changes.apply(folder, { paths: [], overridesHost: true });
  });
}

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
      await run(actor, "sync", scriptOf(attack, mark), project);
      await expectUnmarked(actor, attack, mark, project);
      expect(await runOutside(actor, ["git", "log"], project)).toMatchObject({ status: 0 });
    });

    it("is not applied", async () => {
      const [project, mark] = [await makeRepository(actor), markOf(actor)];
      outlastClockTick();
      await apply(actor, scriptOf(attack, mark), project);
      await expectUnmarked(actor, attack, mark, project);
      expect(await runOutside(actor, ["git", "log"], project)).toMatchObject({ status: 0 });
    });

    if (attack.isBeyondMount) {
      it("in a live workspace is passed over by git with safe.bareRepository", async () => {
        const [project, mark] = [await makeRepository(actor), markOf(actor)];
        await run(actor, "mount", scriptOf(attack, mark), project);
        const folder = join(project, attack.startedIn);
        expect(await isMarkedByGit(actor, folder, mark, ["-c", "safe.bareRepository=explicit"])).toBe(false);
        expect(await isMarkedByGit(actor, folder, mark)).toBe(true);
      });
    } else {
      it("fails in a live workspace", async () => {
        const [project, mark] = [await makeRepository(actor), markOf(actor)];
        await run(actor, "mount", scriptOf(attack, mark), project);
        await expectUnmarked(actor, attack, mark, project);
      });
    }
  });

  it("is not put together by several runs", async () => {
    const [project, mark] = [await makeRepository(actor), markOf(actor)];
    const whole: GitAttack = { name: "", script: "repository src", startedIn: "src" };
    outlastClockTick();
    await run(actor, "sync", `${scriptOf(whole, mark)}; rm src/HEAD`, project);
    await run(actor, "sync", "echo 'ref: refs/heads/main' > src/HEAD", project);
    await expectUnmarked(actor, whole, mark, project);
  });

  it("a live workspace is left as it was found", async () => {
    const project = await makeRepository(actor);
    const before = snapshot(project);
    const script = "cat commondir nested/commondir nested/.git/commondir bare/commondir > /dev/null";
    await run(actor, "mount", script, project);
    expect(snapshot(project)).toEqual(before);
  });

  it("commits of a sandbox's are carried over", async () => {
    const project = await makeRepository(actor);
    outlastClockTick();
    const script =
      "git config --global --add safe.directory '*'; git switch -q -c other; echo more >> code.txt; git commit -q -a -m second";
    await run(actor, "sync", script, project);
    const log = await runOutside(actor, ["git", "log", "--format=%s %D"], project);
    expect(log).toMatchObject({ status: 0, stdout: "second HEAD -> other\nfirst tree, main\n" });
  });
});
