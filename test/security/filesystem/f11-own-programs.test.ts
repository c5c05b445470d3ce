/** Programs of ours that the host runs in a sandbox while the sandbox's own processes run there. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { programPlaces, replacePrograms } from "../../contract/suite/kept-programs.js";
import { actors } from "../../support/actors.js";
import { leavesNothingBehind } from "../../support/nothing-left.js";
import { makeProject } from "../../support/project.js";
import { inWorld } from "../../support/sandbox-world.js";
import { runOutside } from "../support/process-programs.js";

describe.each(actors)("F11 programs of ours are replaced in a running sandbox, as $name", (actor) => {
  leavesNothingBehind();

  it("outside, where nothing holds the directory, each is replaced and would be run", async () => {
    const folder = actor.folder("programs");
    const [place, mark] = [join(folder, "own"), join(folder, "mark")];
    await runOutside(actor, ["sh", "-c", `mkdir ${place}; for n in entry guest; do cp /bin/true ${place}/ak-$n; done`]);
    const script = `${replacePrograms(place, mark)}; ${place}/ak-entry connect`;
    // Root can mount over them too, where the mount ends with the script.
    const apart = actor.name === "root" ? (["unshare", "--mount", "sh"] as const) : (["sh"] as const);
    const { stdout } = await runOutside(actor, [...apart, "-c", script]);
    expect(stdout).toBe("replaced ak-entry\nreplaced ak-guest\n");
    expect(readFileSync(mark, "utf8")).toBe(`as ${actor.uid}: connect\n`);
  });

  it("inside, no later command, list of changes or adoption runs what took their place", async () => {
    const dir = makeProject(actor, { "a.txt": "a\n" }).path;
    const mark = "/workspace/mark";
    await inWorld(actor, async (world) => {
      await world.ok(["create", "--no-network", "--dir", dir, "box"]);
      await world.ok(["start", "box"]);
      for (const place of programPlaces) {
        await world.ak(["exec", "box", "sh", "-c", replacePrograms(place, mark)]);
      }
      expect(await world.ok(["exec", "box", "sh", "-c", "echo new >new.txt; ls"])).toBe("a.txt\nnew.txt\n");
      expect(await world.ok(["diff", "box"])).toMatch(/new\.txt/);
      await world.restart();
      expect(await world.ok(["exec", "box", "ls"])).toBe("a.txt\nnew.txt\n");
      expect(await world.ok(["diff", "box"])).not.toMatch(/mark/);
      await world.ok(["stop", "box"]);
      expect(await world.ok(["diff", "box"])).toMatch(/new\.txt/);
    });
    expect(existsSync(join(dir, "mark"))).toBe(false);
  });
});
