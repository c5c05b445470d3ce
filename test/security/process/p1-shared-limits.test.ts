/** What the kernel counts for each user, on the whole machine: one sandbox leaves some to its owner. */
import { describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { holdCli, holdRun } from "../support/process-answers.js";
import { compile, projectWith, runOutside, startOutside } from "../support/process-programs.js";

describe.each(actors)("P1 limits that all sandboxes of a user share, as $name", (actor) => {
  const others = () => runOutside(actor, [compile("process/watches"), "1"]);

  it("outside, one process takes every inotify instance of its user", async () => {
    const taker = holdCli(startOutside(actor, [compile("process/watches"), "1000000"]));
    const [, most] = await taker.saw(/^(\d+) instances$/m);
    expect(Number(most)).toBeGreaterThan(0);
    expect((await others()).stdout).toBe("0 instances\n");
    await taker.release();
  });

  it.each(["moderate", "restrictive"])("inside, under %s, it takes a part of them", async (profile) => {
    const cwd = projectWith(actor, "process/watches");
    const taker = holdRun(actor, ["--profile", profile, "./watches", "1000000"], { cwd });
    const [, most] = await taker.saw(/^(\d+) instances$/m);
    expect(Number(most)).toBeGreaterThan(0);
    expect((await others()).stdout).toBe("1 instances\n");
    await taker.release();
  });
});
