import { readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { runIn } from "../../support/run-cli.js";
import { own } from "../support/fs-tree.js";

describe.each(actors)("F2 mount points inside the project, as $name", (actor) => {
  it.each(["mount", "sync"])(
    "%s: one that does not exist is refused, and none is left in the project",
    async (form) => {
      const [project, shown] = [actor.folder(), actor.folder()];
      const words = ["--workspace", form, "-v", `${shown}:/workspace/new:ro`, "true"];
      const result = await runIn(actor, words, { cwd: project });
      expect(result).toMatchObject({ status: 125, stdout: "" });
      expect(result.stderr).toMatch(
        /nothing can be mounted at \/workspace\/new: it does not exist in \/workspace\n {2}hint: /,
      );
      expect(readdirSync(project)).toEqual([]);
    },
  );

  it("copy: it is made in the copy, and the project stays as it is", async () => {
    const [project, shown] = [actor.folder(), actor.folder()];
    writeFileSync(join(shown, "file"), "shown");
    own(actor, shown);
    const result = await runIn(actor, ["-v", `${shown}:/workspace/new:ro`, "cat", "new/file"], { cwd: project });
    expect(result).toMatchObject({ status: 0, stdout: "shown" });
    expect(readdirSync(project)).toEqual([]);
  });

  it.each(["copy", "sync", "mount"])(
    "%s: a link of the project's does not lead a mount over the system",
    async (form) => {
      const [project, shown] = [actor.folder(), actor.folder()];
      symlinkSync("/usr", join(project, "link"));
      const words = ["--workspace", form, "-v", `${shown}:/workspace/link/share:ro`, "ls", "/usr/share"];
      const result = await runIn(actor, words, { cwd: project });
      expect(result).toMatchObject({ status: 125, stdout: "" });
      expect(result.stderr).toMatch(/nothing can be mounted at \/workspace\/link\/share/);
    },
  );
});
