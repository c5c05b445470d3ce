/** A command line that started its daemon itself is what it is without: streams, signals, job control, terminal. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { underJobControl } from "../support/job-control.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { caller, endsDaemons, gone, until } from "../support/on-demand.js";
import { awaitChild, killNow } from "../support/process-tree.js";
import { runCli, runIn } from "../support/run-cli.js";
import { shellCli } from "../support/shell-cli.js";
import { onTerminal } from "../support/terminal.js";
import { WatchedCli } from "../support/watched-cli.js";

/** The state of the one process that has this in its command line: S sleeping, T stopped. */
function stateOf(mark: string): string | undefined {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, "latin1") !== mark) continue;
      return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "latin1"))?.[1];
    } catch {
      // It is gone.
    }
  }
  return undefined;
}

function childOf(pid: number): number | undefined {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  const children = text.split(" ").filter(Boolean).map(Number);
  return children.find((child) => readFileSync(`/proc/${child}/comm`, "utf8").startsWith("node"));
}

function groupOf(pid: number): number {
  return Number(/\) \w \d+ (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "latin1"))?.[1]);
}

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();
  endsDaemons();

  it("binary streams, closed pipes and the status", async () => {
    const client = caller(actor);
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256));
    const result = await runIn(client, ["sh", "-c", "cat; echo err >&2; exit 3"], { stdin: bytes });
    expect(result.stdoutBytes.equals(bytes)).toBe(true);
    expect(result.status).toBe(3);
    expect(result.stderr).toMatch(/^(agentkernel: (cgroup: |\d+ files? hidden).*\n)*err\n$/);
    await runCli(client, ["daemon", "stop"]);
    const piped = await shellCli(client, "agentkernel run --no-network yes | head -n 1");
    expect(piped).toMatchObject({ status: 0, stdout: "y\n" });
  });

  it("a signal comes once, whoever sends it", async () => {
    const client = caller(actor);
    // Python writes a byte for each signal that the kernel delivers; a shell would run its trap once for two.
    const script = [
      "import os, signal, sys",
      "come, go = os.pipe(); os.set_blocking(go, False); signal.set_wakeup_fd(go)",
      "signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'told\\n'))",
      "print('up', flush=True)",
      "for line in sys.stdin: print(line, end='', flush=True)",
      "print('in all', len(os.read(come, 99)))",
    ].join("\n");
    for (const whole of [false, true]) {
      const shell = { ...client, program: ["/usr/bin/setsid", "-w", ...(client.program ?? [])] };
      const cli = new WatchedCli(shell, ["run", "--no-network", "python3", "-c", script]);
      await cli.until(/up/);
      const pid = childOf(cli.pid) ?? cli.pid;
      process.kill(whole ? -groupOf(pid) : pid, "SIGTERM");
      await cli.until(/told/);
      cli.type("on\n");
      await cli.until(/on/);
      cli.child.stdin?.end();
      expect((await cli.end).stdout).toContain("in all 1\n");
      await runCli(client, ["daemon", "stop"]);
    }
  });

  it("a terminal: its size, what is typed, Ctrl-C, and given back as it was", () => {
    const client = caller(actor);
    const script = "stty size; trap 'echo interrupted; exit 9' INT; echo ready; while :; do sleep 0.01; done";
    const steps = [{ expect: "24 80" }, { expect: "ready" }, { type: "\u0003" }, { expect: "interrupted" }];
    expect(onTerminal(client, ["-t", "sh", "-c", script], steps)).toMatchObject({ status: 9, restored: true });
  });

  it("Ctrl-Z stops the command too, and fg lets it go on", async () => {
    const client = caller(actor);
    const mark = "sleep\x004502\0";
    const cli = new WatchedCli(underJobControl(client), [
      "run",
      "--no-network",
      "sh",
      "-c",
      "echo running; exec sleep 4502",
    ]);
    const pid = Number((await cli.until(/client (\d+)\n/))[1]);
    await cli.until(/running/);
    await until(() => stateOf(mark) === "S");
    process.kill(-pid, "SIGTSTP");
    await until(() => stateOf(mark) === "T");
    await until(() => /\) T/.test(readFileSync(`/proc/${pid}/stat`, "latin1")));
    process.kill(-pid, "SIGCONT");
    await until(() => stateOf(mark) === "S");
    killNow(pid, "SIGTERM");
    await cli.end;
  });

  it("whoever is killed takes the command along", async () => {
    const client = caller(actor);
    const cli = new WatchedCli(client, ["run", "--no-network", "sh", "-c", "echo up; exec sleep 4501"]);
    await cli.until(/up/);
    const helper = awaitChild(cli.pid, "ak-client");
    killNow(cli.pid);
    await cli.end;
    await gone(helper);
  });

  it("faults are looked for in it, too", async () => {
    const client = caller(actor);
    const result = await runIn(client, ["echo", "served"], { env: { AGENTKERNEL_DEBUG: "1" } });
    expect(result.stdout).toBe("served\n");
  });
});
