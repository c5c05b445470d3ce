/** Signals to the command line: passed on to the command, and in the end everything is gone. */
import { constants } from "node:os";
import { describe, expect, it } from "vitest";
import { callers, usesDaemon } from "../support/daemon.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { awaitJail, killNow, spinMs } from "../support/process-tree.js";
import { WatchedCli } from "../support/watched-cli.js";

const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;
const bare = ["--no-network", "--workspace", "none", "sh", "-c"];
const run = ["run", ...bare];

/** Everything that could outlive: double-forked, in a session of its own, deaf to signals, stopped, holding stdout. */
const clinging = [
  "trap '' TERM INT HUP QUIT",
  "(setsid sh -c \"trap '' TERM INT HUP QUIT; sleep 4101\" &)",
  "(setsid sh -c 'kill -STOP $$' &)",
  "echo running",
  "while :; do sleep 4101; done",
].join("; ");

describe.each(callers)("$title", (actor) => {
  usesDaemon(actor);
  leavesNothingBehind();

  describe.each(signals)("%s", (signal) => {
    it("reaches the command, whose answer is the status", async () => {
      const name = signal.slice(3);
      const cli = new WatchedCli(actor, [
        ...run,
        `trap 'echo told; exit 9' ${name}; echo running; while :; do sleep 0.01; done`,
      ]);
      await cli.until(/running/);
      cli.child.kill(signal);
      expect(await cli.end).toMatchObject({ status: 9, stdout: "running\ntold\n" });
    });

    it("that the command does not handle is its status: 128 and its number", async () => {
      const cli = new WatchedCli(actor, [...run, "echo running; exec sleep 4101"]);
      await cli.until(/running/);
      cli.child.kill(signal);
      expect(await cli.end).toMatchObject({ status: 128 + constants.signals[signal] });
    });

    it("that a whole tree ignores ends it none the less, within the grace time", async () => {
      const cli = new WatchedCli(actor, ["run", "--grace", "1s", ...bare, clinging]);
      await cli.until(/running/);
      const startedAt = performance.now();
      cli.child.kill(signal);
      expect(await cli.end).toMatchObject({ status: 128 + constants.signals[signal] });
      expect(performance.now() - startedAt).toBeLessThan(9000);
    });

    it("while the sandbox starts", async () => {
      for (const delayMs of [0, 1, 2, 3, 4, 6, 8]) {
        const cli = new WatchedCli(actor, [...run, "exec sleep 4101"]);
        awaitJail(actor.daemonPid() ?? cli.pid);
        spinMs(delayMs);
        killNow(cli.pid, signal);
        const { status, signal: killedBy } = await cli.end;
        const number = constants.signals[signal];
        // A client that has handed nothing over yet is ended by the signal itself, which a shell calls the same.
        expect(killedBy === signal ? 128 + number : status, `${delayMs} ms into the start`).toBe(128 + number);
      }
    });
  });

  it.each(["SIGUSR1", "SIGUSR2"] as const)(
    "%s reaches the command as often as it is sent, and does not end it",
    async (signal) => {
      const counting = `n=0; trap 'n=$((n+1)); echo got $n' ${signal.slice(3)}; echo running; while [ $n -lt 2 ]; do sleep 0.01; done`;
      const cli = new WatchedCli(actor, [...run, counting]);
      await cli.until(/running/);
      cli.child.kill(signal);
      await cli.until(/got 1/);
      cli.child.kill(signal);
      expect(await cli.end).toMatchObject({ status: 0, stdout: "running\ngot 1\ngot 2\n" });
    },
  );

  it("a command that tidies up has more than a moment for it, unless --grace says otherwise", async () => {
    const tidying = "trap 'sleep 2; echo tidy; exit 9' TERM; echo running; while :; do sleep 0.01; done";
    const ended = async (options: readonly string[]) => {
      const cli = new WatchedCli(actor, ["run", ...options, ...bare, tidying]);
      await cli.until(/running/);
      cli.child.kill("SIGTERM");
      return await cli.end;
    };
    expect(await ended([])).toMatchObject({ status: 9, stdout: "running\ntidy\n" });
    expect(await ended(["--grace", "100ms"])).toMatchObject({ status: 143, stdout: "running\n" });
  });

  it("a second Ctrl-C does not wait for the grace time", async () => {
    const endedAfterMs = async () => {
      const cli = new WatchedCli(actor, [...run, clinging]);
      await cli.until(/running/);
      const startedAt = performance.now();
      cli.child.kill("SIGINT");
      spinMs(20);
      cli.child.kill("SIGINT");
      expect(await cli.end).toMatchObject({ status: 130 });
      return performance.now() - startedAt;
    };
    // A busy machine takes its time too, but not always; one that waited would do so each time.
    let quickestMs = await endedAfterMs();
    for (let more = 0; more < 9 && quickestMs >= 900; more += 1) quickestMs = await endedAfterMs();
    expect(quickestMs).toBeLessThan(900);
  });
});
