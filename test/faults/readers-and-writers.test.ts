/** The other ends of the standard streams: gone, slow, full. */
import { createWriteStream } from "node:fs";
import { describe, expect, it } from "vitest";
import { expectComplaint } from "../support/complaint.js";
import { callers, usesDaemon } from "../support/daemon.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { startCli } from "../support/run-cli.js";
import { shellCli } from "../support/shell-cli.js";

/** The status of the first program of the pipe before it. */
const firstStatus = "echo $PIPESTATUS";

describe.each(callers)("$title", (actor) => {
  usesDaemon(actor);
  leavesNothingBehind();

  it("a reader that goes away ends the command, with the status that a local process has", async () => {
    const local = await shellCli(actor, `yes | head -1; ${firstStatus}`);
    const ours = await shellCli(actor, `agentkernel run --no-network yes | head -1; ${firstStatus}`);
    expect(local.stdout).toBe("y\n141\n");
    expect(ours.stdout).toBe(local.stdout);
  });

  it("a command that ignores the signal gets the error of a closed pipe, as Python's and Node's do", async () => {
    const program = "python3 -c 'while True: print(1)' 2> /dev/null";
    const local = await shellCli(actor, `${program} | head -1; ${firstStatus}`);
    const limited = `agentkernel run --no-network --timeout 5s ${program} | head -1; ${firstStatus}`;
    const ours = await shellCli(actor, limited);
    expect(ours.stdout).toBe(local.stdout);
  });

  it("closed standard streams are those of a command that prints into the void", async () => {
    const { stdout } = await shellCli(
      actor,
      "agentkernel run --no-network sh -c 'echo x; exit 6' <&- >&- 2>&-; echo $?",
    );
    expect(stdout).toBe("6\n");
  });

  it("output that cannot be written is an error, not silence", async () => {
    const { status, stderr } = await shellCli(actor, "agentkernel run --no-network echo lost > /dev/full");
    expect(status).toBe(125);
    expectComplaint(stderr, /standard output cannot be written \(ENOSPC\)/);
  });

  it("the time limit fires although nobody reads and the pipe is full", async () => {
    const cli = startCli(actor, ["run", "--no-network", "--timeout", "300ms", "yes"]);
    cli.stdout?.pause();
    const startedAt = performance.now();
    const status = await new Promise((resolve) => cli.once("exit", resolve));
    expect(status).toBe(124);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    cli.stdout?.destroy();
  });

  it("a signal ends it although nobody reads and the pipe is full", async () => {
    const cli = startCli(actor, ["run", "--no-network", "sh", "-c", "echo running >&2; exec yes"]);
    cli.stdout?.pause();
    await new Promise<void>((resolve) => {
      cli.stderr?.on("data", (chunk: Buffer) => {
        if (String(chunk).includes("running")) resolve();
      });
    });
    cli.kill("SIGTERM");
    expect(await new Promise((resolve) => cli.once("exit", resolve))).toBe(143);
    cli.stdout?.destroy();
  });

  it("a slow reader gets everything", async () => {
    const line = "agentkernel run --no-network seq 300000 | (sleep 0.3; sha256sum); seq 300000 | sha256sum";
    const [ours, local] = (await shellCli(actor, line)).stdout.trim().split("\n");
    expect(ours).toBe(local);
  });

  it("a writer that never ends its input does not hold up the end", async () => {
    const cli = startCli(actor, ["run", "--no-network", "sh", "-c", "exit 4"]);
    cli.stdout?.pipe(createWriteStream("/dev/null"));
    expect(await new Promise((resolve) => cli.once("exit", resolve))).toBe(4);
    cli.stdin?.destroy();
  });
});
