/** Ways in which what a sandbox made of a project reaches the user's repository. */
import { expect } from "vitest";
import { inStateFolder, startPersistent } from "../../contract/suite/kept-subject.js";
import { bootSpec } from "../../contract/suite/subject.js";
import type { Actor } from "../../support/actors.js";
import { backendOf } from "../../support/backend-of.js";
import { runIn } from "../../support/run-cli.js";

export async function runWith(actor: Actor, form: string, script: string, project: string): Promise<string> {
  const result = await runIn(actor, ["--workspace", form, "sh", "-c", script], { cwd: project });
  expect(result, result.stderr).toMatchObject({ status: 0 });
  return result.stderr;
}

export async function applyFrom(actor: Actor, script: string, project: string): Promise<void> {
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
