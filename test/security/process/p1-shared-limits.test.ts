/** What the kernel counts for each user, on the whole machine: one sandbox leaves some to its owner. */
import { describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { holdCli, holdRun } from "../support/process-answers.js";
import { compile, projectWith, runOutside, startOutside } from "../support/process-programs.js";

/** Makes large pipes until the kernel refuses one, says how many, and holds them until its input ends. */
const takePipes = `
import fcntl, os, sys
F_SETPIPE_SZ, taken = 1031, 0
try:
    while taken < int(sys.argv[1]):
        fcntl.fcntl(os.pipe()[1], F_SETPIPE_SZ, 1 << 20)
        taken += 1
except OSError:
    pass
print(taken, "pipes", flush=True)
sys.stdin.read()
`;

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

// Root is spared by the kernel, and its sandboxes have ids of their own.
const ordinary = actors.filter(({ uid }) => uid !== 0);

describe.each(ordinary)("P1 memory for pipes, which the kernel counts by the user alone, as $name", (actor) => {
  it("a sandbox can use it up, as any process of the user can: pipes are smaller then, and work", async () => {
    const taker = holdRun(actor, ["python3", "-c", takePipes, "1000"]);
    const [, most] = await taker.saw(/^(\d+) pipes$/m);
    expect(Number(most)).toBeGreaterThan(0);
    expect(Number(most)).toBeLessThan(1000);
    const text = "x".repeat(100_000);
    const script = `import sys; print(len(sys.stdin.read()))`;
    const piped = await runOutside(actor, ["sh", "-c", `printf %s '${text}' | python3 -c '${script}' | cat`]);
    expect(piped.stdout).toBe("100000\n");
    await taker.release();
  });
});
