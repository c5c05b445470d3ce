/** What git goes on with (a rebase), checks out (its index) or believes (references): nothing of it is a sandbox's to run. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { outlastClockTick } from "../../support/project.js";
import { runOutside } from "../support/fs-attack.js";
import { markOf } from "../support/git-attack.js";
import { applyFrom, runWith } from "../support/git-carried.js";
import {
  type GitStateAttack,
  type GitStateProject,
  gitStateAttacks,
  makeGitStateProject,
  stateScriptOf,
} from "../support/git-state-attack.js";

async function expectHarmless(
  actor: Actor,
  { path, onHost }: GitStateProject,
  { host }: GitStateAttack,
  mark: string,
): Promise<void> {
  expect(readFileSync(join(path, "code.txt"), "utf8")).toBe("changed\n");
  await onHost(host, mark);
  expect(existsSync(mark)).toBe(false);
  expect(await runOutside(actor, ["git", "log"], path)).toMatchObject({ status: 0 });
}

describe.each(actors)("F3 git of the host goes on with nothing of a sandbox's, as $name", (actor) => {
  describe.each(gitStateAttacks)("$name", (attack) => {
    it("works without a sandbox", async () => {
      const [project, mark] = [await makeGitStateProject(actor), markOf(actor)];
      await runOutside(actor, ["sh", "-c", stateScriptOf(attack, mark)], project.path);
      expect(existsSync(mark)).toBe(false);
      await project.onHost(attack.host, mark);
      expect(existsSync(mark)).toBe(true);
    });

    it("is not carried over by sync", async () => {
      const [project, mark] = [await makeGitStateProject(actor), markOf(actor)];
      outlastClockTick();
      await runWith(actor, "sync", stateScriptOf(attack, mark), project.path);
      await expectHarmless(actor, project, attack, mark);
    });

    it("is not applied", async () => {
      const [project, mark] = [await makeGitStateProject(actor), markOf(actor)];
      outlastClockTick();
      await applyFrom(actor, stateScriptOf(attack, mark), project.path);
      await expectHarmless(actor, project, attack, mark);
    });
  });
});
