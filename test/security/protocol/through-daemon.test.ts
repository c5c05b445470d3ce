/**
 * Hostile guests beside honest ones in one daemon. The honest sandboxes are started first; then the guest of the
 * daemon's build is replaced, so that whatever is started after that has a hostile one, warm sandboxes included.
 */
import { chmodSync, copyFileSync, cpSync, renameSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { encodeFrame, encodeJson, FrameType } from "../../../src/guest/frame.js";
import { actors } from "../../support/actors.js";
import { expectComplaint } from "../../support/complaint.js";
import { leavesNothingBehind } from "../../support/nothing-left.js";
import { SandboxWorld } from "../../support/sandbox-world.js";
import type { WatchedCli } from "../../support/watched-cli.js";
import { orderWords } from "../support/process-hostile-guest.js";
import { compile } from "../support/process-programs.js";

// Another shape than that of the honest runs: no warm sandbox with an honest guest can serve these.
const RUN = ["run", "--no-network", "--workspace", "none", "--workdir", "/", "--"];
const ASK = ["sh", "-c", "echo up; read word; echo heard $word"];
const HELLO = encodeJson(FrameType.hello, 0, { protocol: 1, guest: "hostile", window: 65_536, features: ["exec"] });
const OPENED = encodeJson(FrameType.opened, 1, { pid: 7 });
const GARBAGE = Buffer.alloc(64, 0xff);
const STRANGER = encodeFrame(FrameType.data, 501, 1, Buffer.from("forged"));

/** A whole, faultless exec on this channel, as if a command had said something and ended well. */
function success(channel: number): readonly Buffer[] {
  const usage = { user_us: 0, system_us: 0, max_rss_kib: 0 };
  return [
    encodeJson(FrameType.opened, channel, { pid: 7 }),
    encodeFrame(FrameType.data, channel, 1, Buffer.from("forged\n")),
    encodeFrame(FrameType.eof, channel, 1),
    encodeFrame(FrameType.eof, channel, 2),
    encodeJson(FrameType.exit, channel, { code: 0, signal: null, usage }),
  ];
}

/** A command that runs, as far as its guest says, and has not ended. */
const RUNNING = [OPENED, encodeFrame(FrameType.data, 1, 1, Buffer.from("up"))];

const CHANNELS = Array.from({ length: 32 }, (_, index) => 2 * index + 1);

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();
  let world: SandboxWorld;
  let dist: string;
  let waiting: readonly WatchedCli[];

  beforeEach(async () => {
    dist = join(actor.folder("two-guests"), "dist");
    cpSync(actor.dist, dist, { recursive: true });
    world = new SandboxWorld({ ...actor, dist });
    await world.up();
    await world.started("honest");
    waiting = [
      world.watch(["exec", "honest", ...ASK]),
      world.watch(["run", "--no-network", "--workspace", "none", "--workdir", "/tmp", "--user", "root", ...ASK]),
    ];
    for (const one of waiting) await one.until(/up/);
    const hostile = join(dist, "native", "hostile");
    copyFileSync(compile("protocol/hostile-guest"), hostile);
    chmodSync(hostile, 0o755);
    renameSync(hostile, join(dist, "native", "ak-guest"));
  });

  afterEach(async () => {
    await world.down();
  });

  /** The commands that waited all the time, the sandbox that stays and the daemon are as they were. */
  async function expectOthersUntouched(): Promise<void> {
    expect(await world.ok(["exec", "honest", "echo", "works"])).toBe("works\n");
    for (const one of waiting) {
      one.type("me\n");
      const { status, stdout } = await one.end;
      expect({ status, stdout }).toEqual({ status: 0, stdout: "up\nheard me\n" });
    }
    expect(world.daemon.child.exitCode).toBeNull();
    expect(world.daemon.stderr).not.toMatch(/fault|^\s+at /m);
  }

  describe("G1 a guest that breaks the protocol with its daemon", () => {
    it("ends one command line with a clear error, cold or warm, and nothing else", async () => {
      for (const frames of [[HELLO, GARBAGE], [OPENED], [HELLO, OPENED, OPENED], [HELLO, STRANGER], [GARBAGE]]) {
        const { status, stdout, stderr } = await world.ak([...RUN, ...orderWords("play", frames)]);
        expect({ status, stdout }, stderr).toEqual({ status: 125, stdout: "" });
        expectComplaint(stderr, /The guest broke the protocol: /, null);
      }
      const flood = [HELLO, OPENED];
      const output = encodeFrame(FrameType.data, 1, 1, Buffer.alloc(32_768, 0x61));
      expect((await world.ak([...RUN, ...orderWords("deaf", flood, [output])])).status).toBe(125);
      expect((await world.ak([...RUN, ...orderWords("die", flood)])).status).toBe(125);
      await expectOthersUntouched();
    });

    it("in a sandbox that stays ends that sandbox's commands, and it can be removed", async () => {
      await world.started("evil");
      const running = world.watch(["exec", "evil", ...orderWords("play", RUNNING)]);
      await running.until(/up/);
      const { status, stderr } = await world.ak(["exec", "evil", ...orderWords("play", [GARBAGE])]);
      expect(status, stderr).toBe(125);
      expectComplaint(stderr, /The guest broke the protocol: /, null);
      expect((await running.end).status).toBe(125);
      expect(await world.states()).toMatchObject({ honest: "running" });
      await world.ok(["remove", "--force", "evil"]);
      await expectOthersUntouched();
    });
  });

  describe("G3 a guest that speaks for somebody else to its daemon", () => {
    it("reaches no command of another sandbox, by whatever channel", async () => {
      await world.started("evil");
      // Its own exec is answered, then every other channel that the honest sandboxes may use.
      const frames = CHANNELS.flatMap(success);
      const forged = await world.ak(["exec", "evil", ...orderWords("play", frames)]);
      expect(forged.stdout).toBe("forged\n");
      const once = await world.ak([...RUN, ...orderWords("play", [HELLO, ...frames])]);
      expect(once.stdout).toBe("forged\n");
      await expectOthersUntouched();
    });

    it("and a command that waits in its own sandbox fails when it lies about one that is not there", async () => {
      await world.started("evil");
      const first = world.watch(["exec", "evil", ...orderWords("play", RUNNING)]);
      await first.until(/up/);
      const lie = await world.ak(["exec", "evil", ...orderWords("play", [STRANGER])]);
      expect(lie.status).toBe(125);
      const { status, stdout } = await first.end;
      expect({ status, stdout }).toEqual({ status: 125, stdout: "up" });
      await expectOthersUntouched();
    });
  });
});
