/**
 * What a sandbox changed (`diff`, `apply`) is looked at on the host, beside the host's own files. Nothing that is hidden
 * from the sandbox may come out there, and nothing may be changed that it could not have changed.
 */

import { linkSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PersistentChanges } from "../../../src/core/changes.js";
import { inStateFolder, type Owned, startPersistent } from "../../contract/suite/kept-subject.js";
import { bootSpec } from "../../contract/suite/subject.js";
import { type Actor, actors } from "../../support/actors.js";
import { backendOf } from "../../support/backend-of.js";
import { contentOf, makeProject, type Project } from "../../support/project.js";
import { runOutside } from "../../support/run-as.js";
import { privateKeyHolding } from "../../support/secret-files.js";

const inProject = { cwd: "/workspace" } as const;
const everything = { paths: [] } as const;

async function withSandbox(
  actor: Actor,
  project: Project,
  use: (owned: Owned, changes: PersistentChanges, folder: string) => Promise<void>,
): Promise<void> {
  const { kept } = backendOf(actor);
  if (kept?.changes === undefined) throw new Error("the backend tells changes");
  const { changes } = kept;
  const folder = actor.ownFolder("state");
  await inStateFolder(kept, folder, async () => {
    await use(await startPersistent(kept, bootSpec({ projectDir: project.path }), folder), changes, folder);
  });
}

/** Everything that is told of the changes, as one text. */
async function toldOf(changes: PersistentChanges, folder: string): Promise<string> {
  const parts: string[] = [];
  for await (const part of changes.patch(folder, everything, (note) => parts.push(note))) parts.push(String(part));
  parts.push(JSON.stringify(await changes.list(folder, { ...everything, countsLines: true })));
  parts.push(JSON.stringify(await changes.apply(folder, { ...everything, isRehearsal: true, overridesHost: true })));
  return parts.join("\n");
}

describe.each(actors)("F8 secrets in what a sandbox changed, as $name", (actor) => {
  it("the host's secrets are neither told nor compared, under any of their names", async () => {
    const project = makeProject(actor, {
      ".env": "TOKEN=secret-1\n",
      "sub/.env": "TOKEN=secret-2\n",
      ".npmrc": "_authToken=secret-3\n",
      "a.txt": "a\n",
    });
    linkSync(join(project.path, ".env"), join(project.path, "innocent"));
    symlinkSync("hidden-target", join(project.path, ".env.link"));
    writeFileSync(join(project.path, "hidden-target"), "TOKEN=secret-4\n");
    // A comparison with the host's files tells them, where nothing keeps it from that.
    const naive = runOutside(actor, ["diff", "-u", join(project.path, "innocent"), "/dev/null"]);
    expect(naive.stdout).toContain("secret-1");
    await withSandbox(actor, project, async (owned, changes, folder) => {
      const names = ".env .npmrc innocent hidden-target .env.link sub/.env";
      expect(await owned.sh(`for n in ${names}; do echo mine > $n; done; rm -r sub`, inProject)).toMatchObject({
        code: 0,
      });
      // One that appears after the start.
      writeFileSync(join(project.path, "id_rsa"), privateKeyHolding("secret-5"));
      await owned.sh("echo mine > id_rsa", inProject);
      const before = project.content();
      const told = await toldOf(changes, folder);
      expect(told).not.toMatch(/secret-\d/);
      expect(told).not.toContain("sub/.env");
      const report = await changes.apply(folder, { ...everything, overridesHost: true });
      expect(report.changes.filter(({ refused }) => refused === null)).toEqual([]);
      expect(project.content()).toEqual(before);
    });
  });

  it("files that steer agents and git stay as they are", async () => {
    const project = makeProject(actor, {
      ".git/hooks/pre-commit": "true\n",
      ".git/config": "[core]\n",
      "a.txt": "a\n",
    });
    await withSandbox(actor, project, async (owned, changes, folder) => {
      await owned.sh(
        "echo evil > .git/hooks/pre-commit; echo evil >> .git/config; mkdir .claude; echo {} > .claude/settings.json; echo evil > agentkernel.toml; mv .git .gone; mkdir .git; ln -s /tmp .git/hooks",
        inProject,
      );
      await changes.apply(folder, { ...everything, overridesHost: true });
      const { ".git/config": config, ".git/hooks/pre-commit": hook } = project.content();
      expect({ config, hook }).toEqual({ config: "[core]\n", hook: "true\n" });
      expect(Object.keys(project.content()).filter((name) => /claude|toml/.test(name))).toEqual([]);
    });
  });
});

describe.each(actors)("F5 applying what a sandbox changed, as $name", (actor) => {
  it("writes nothing outside the project, and what it cannot take over it says", async () => {
    const outside = makeProject(actor, { kept: "of the host\n" });
    const project = makeProject(actor, { "d/file": "x\n", "e/file": "x\n" });
    // A folder of the project's that leads outside by the user's own link.
    symlinkSync(outside.path, join(project.path, "theirs"));
    runOutside(actor, ["cp", join(project.path, "d/file"), join(project.path, "theirs/probe")]);
    expect(contentOf(outside.path)).toHaveProperty("probe");
    const before = outside.content();
    await withSandbox(actor, project, async (owned, changes, folder) => {
      const made = await owned.sh(
        `rm theirs; mkdir theirs; echo attacked > theirs/kept
         rm -r d; ln -s ${outside.path} d; ln -s ../../../..${outside.path} up; ln -s d/../../x across
         mkfifo pipe; truncate -s 1T sparse; echo x > "$(printf 'a\\033[2Jb')"
         i=0; while [ $i -lt 300 ]; do mkdir deep; cd deep; i=$((i+1)); done`,
        inProject,
      );
      expect(made).toMatchObject({ code: 0 });
      const report = await changes.apply(folder, { ...everything, overridesHost: true });
      const refused = report.changes.filter((change) => change.refused !== null).map(({ path }) => path.slice(0, 4));
      expect(refused.sort()).toEqual(["a\u001b[2", "acro", "d", "d/fi", "deep", "pipe", "up"]);
      expect(outside.content()).toEqual(before);
      expect(runOutside(actor, ["du", "-s", "--block-size=1", project.path]).stdout).toMatch(/^\d{1,7}\t/);
      expect(readFileSync(join(project.path, "theirs/kept"), "utf8")).toBe("attacked\n");
    });
  });
});
