/** What dies, fills up or stops around the daemon: nothing is left behind, and the next one works. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Actor, actors, programOf } from "../support/actors.js";
import { clientOf, onlyThroughDaemon, TestDaemon } from "../support/daemon.js";
import { underJobControl } from "../support/job-control.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { awaitChild, isGone, killNow } from "../support/process-tree.js";
import { runCli, runIn } from "../support/run-cli.js";
import { atEachPoint, Striker, struckAt } from "../support/strike.js";
import { onTerminal } from "../support/terminal.js";
import { WatchedCli } from "../support/watched-cli.js";

const run = ["run", "--no-network", "--workspace", "none", "sh", "-c"];
const lost = /^agentkernel: the daemon ended before this was over, and the command with it[^\n]*\n {2}hint: [^\n]+\n$/m;

interface World {
  readonly client: Actor;
  readonly daemon: TestDaemon;
}

async function withDaemon(actor: Actor, words: readonly string[], use: (world: World) => Promise<void>): Promise<void> {
  const client = onlyThroughDaemon(clientOf(actor));
  const daemon = new TestDaemon(client, words);
  try {
    await daemon.ready;
    await use({ client, daemon });
  } finally {
    await daemon.stop();
  }
}

async function expectLost(cli: WatchedCli): Promise<void> {
  const { status, stderr } = await cli.end;
  expect(status).toBe(125);
  expect(stderr).toMatch(lost);
}

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

async function until(condition: () => boolean, what: string): Promise<void> {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; ) {
    if (condition()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`${what} did not happen`);
}

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  it("a client that is killed takes its command and sandbox along, at whatever step, and no other", async () => {
    await withDaemon(actor, [], async ({ client, daemon }) => {
      const other = new WatchedCli(client, [...run, "echo running; read go; echo $go"]);
      await other.until(/running/);
      const struck = await atEachPoint(["connect", "sendto", "recvfrom", "ppoll", "write"], async (point) => {
        const victim = struckAt(client, point);
        await new WatchedCli(victim, ["run", "--timeout", "300ms", ...run.slice(1), "echo running; exec sleep 4301"])
          .end;
        return victim.wasStruck();
      });
      expect(struck.length).toBeGreaterThan(3);
      const cli = new WatchedCli(client, [...run, "trap '' TERM HUP INT; echo running; exec sleep 4301"]);
      await cli.until(/running/);
      await until(() => stateOf("sleep\x004301\0") === "S", "the command's start");
      killNow(cli.pid);
      await cli.end;
      await until(() => stateOf("sleep\x004301\0") === undefined, "the end of the command");
      other.type("on\n");
      expect(await other.end).toMatchObject({ status: 0, stdout: "running\non\n" });
      expect(daemon.child.exitCode).toBeNull();
    });
  });

  it("a daemon that is killed ends its sandboxes, its clients say so, and the next one starts", async () => {
    const client = onlyThroughDaemon(clientOf(actor));
    const daemon = new TestDaemon(client);
    await daemon.ready;
    const running = new WatchedCli(client, [...run, "echo running; exec sleep 4302"]);
    await running.until(/running/);
    killNow(daemon.pid);
    await expectLost(running);
    await daemon.exited;
    const struck = await atEachPoint(["accept4", "writev", "write"], async (point) => {
      const short = new TestDaemon(client);
      await short.ready;
      const striker = await Striker.at(short.pid, point);
      const starting = new WatchedCli(client, [...run, "echo running; exec sleep 4302"]);
      await Promise.race([starting.until(/running/), starting.end]);
      const wasStruck = (await striker.off()) || isGone(short.pid);
      if (!wasStruck) killNow(short.pid);
      const { status, stderr } = await starting.end;
      expect({ status, stderr }, `${point.call} number ${point.nth}`).toMatchObject({
        status: 125,
        // Before it has said anything, the client turns to the command line that needs no daemon.
        stderr: expect.stringMatching(stderr.includes("cannot be started") ? /^agentkernel: / : lost),
      });
      await short.exited;
      return wasStruck;
    });
    expect(struck.length).toBeGreaterThan(3);
    const next = new TestDaemon(client);
    await next.ready;
    expect((await runIn(client, ["echo", "again"])).stdout).toBe("again\n");
    await next.stop();
  });

  it("the terminal is given back when the daemon is killed", async () => {
    const client = onlyThroughDaemon(clientOf(actor));
    const daemon = new TestDaemon(client);
    await daemon.ready;
    const steps = [{ expect: "ready" }, { kill: daemon.pid }, { expect: "the daemon ended before this was over" }];
    const session = onTerminal(client, ["-t", "sh", "-c", "stty raw -echo; echo ready; exec sleep 4303"], steps);
    expect(session).toMatchObject({ status: 125, restored: true });
    await daemon.exited;
  });

  it("a daemon that is stopped ends what it runs as by SIGTERM, and serves nobody any more", async () => {
    const client = onlyThroughDaemon(clientOf(actor));
    const daemon = new TestDaemon(client);
    await daemon.ready;
    const tidy = new WatchedCli(client, [
      ...run,
      "trap 'echo told; exit 9' TERM; echo running; while :; do sleep 0.01; done",
    ]);
    const plain = new WatchedCli(client, [...run, "echo running; exec sleep 4304"]);
    const deaf = new WatchedCli(client, [...run, "trap '' TERM; echo running; while :; do sleep 4304; done"]);
    await Promise.all([tidy, plain, deaf].map((cli) => cli.until(/running/)));
    daemon.child.kill("SIGTERM");
    expect(await tidy.end).toMatchObject({ status: 9, stdout: "running\ntold\n" });
    expect(await plain.end).toMatchObject({ status: 143 });
    expect(await deaf.end).toMatchObject({ status: 143 });
    expect(await daemon.exited).toBe(0);
    expect((await runIn(client, ["true"])).status).toBe(125);
  });

  it("a launcher that is killed is replaced, and the sandboxes that it started live on", async () => {
    await withDaemon(actor, [], async ({ client, daemon }) => {
      const before = new WatchedCli(client, [...run, "echo running; read go; echo $go"]);
      await before.until(/running/);
      killNow(awaitChild(daemon.pid, "ak-launcher"));
      const again = await runIn(client, ["echo", "again"]);
      expect(again.stdout, again.stderr).toBe("again\n");
      before.type("on\n");
      expect(await before.end).toMatchObject({ status: 0, stdout: "running\non\n" });
    });
  });

  it("a log that cannot be written costs lines, not runs", async () => {
    await withDaemon(actor, ["--log", "/dev/full"], async ({ client }) => {
      expect((await runIn(client, ["echo", "served"])).stdout).toBe("served\n");
      const status = await runCli({ ...client, program: programOf(actor) }, ["daemon", "status", "--json"]);
      expect(JSON.parse(status.stdout)).toMatchObject({ data: { lost_log_lines: 1 } });
    });
  });

  it("a daemon that does not answer is done without", async () => {
    const client = clientOf(actor);
    const daemon = new TestDaemon(client);
    await daemon.ready;
    killNow(daemon.pid, "SIGSTOP");
    expect((await runIn(client, ["echo", "alone"])).stdout).toBe("alone\n");
    killNow(daemon.pid, "SIGCONT");
    expect(await daemon.stop()).toBe(0);
  });

  it("a client that talks nonsense is cut off, and others are served on", async () => {
    await withDaemon(actor, [], async ({ client, daemon }) => {
      const { connect } = await import("node:net");
      const head = "GET /client HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: agentkernel-client\r\n";
      const build = readFileSync(`${actor.dist}/build-id`, "utf8").trim();
      const nonsense = [
        Buffer.alloc(64, 0xff),
        Buffer.from([0, 0, 0, 0, 9, 0, 0, 0]),
        Buffer.from([3, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3]),
      ];
      for (const bytes of nonsense) {
        const socket = connect(`${client.variables?.XDG_RUNTIME_DIR}/agentkernel/daemon.sock`);
        socket.write(Buffer.concat([Buffer.from(`${head}Agentkernel-Build: ${build}\r\n\r\n`), bytes]));
        socket.resume();
        await new Promise((resolve) => socket.once("close", resolve));
      }
      expect((await runIn(client, ["echo", "served"])).stdout).toBe("served\n");
      expect(daemon.stderr.match(/a connection was cut off/g)).toHaveLength(nonsense.length);
    });
  });

  it("Ctrl-Z stops the command too, and fg lets it go on", async () => {
    await withDaemon(actor, [], async ({ client }) => {
      const mark = "sleep\x004305\0";
      const cli = new WatchedCli(underJobControl(client), [...run, "echo running; exec sleep 4305"]);
      const pid = Number((await cli.until(/client (\d+)\n/))[1]);
      await cli.until(/running/);
      await until(() => stateOf(mark) === "S", "the command's start");
      killNow(pid, "SIGTSTP");
      await until(() => stateOf(mark) === "T", "the command's stop");
      await until(() => /\) T/.test(readFileSync(`/proc/${pid}/stat`, "latin1")), "the client's stop");
      killNow(pid, "SIGCONT");
      await until(() => stateOf(mark) === "S", "the command's going on");
      killNow(pid, "SIGTERM");
      await cli.end;
    });
  });
});
