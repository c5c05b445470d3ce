import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeFrame, encodeJson, FrameType } from "../../../src/guest/frame.js";
import type { ViolationReason } from "../../../src/guest/violation.js";
import { type Actor, actors } from "../../support/actors.js";
import { leaksSince, traces } from "../../support/leaks.js";
import { awaitGuest, awaitJail } from "../../support/process-tree.js";
import { type CliResult, runCli, runIn, startCli } from "../../support/run-cli.js";
import { holdCli } from "../support/process-answers.js";
import { hostileSandbox, type Order, order, orderWords, withHostileGuest } from "../support/process-hostile-guest.js";
import { peakUntil } from "../support/process-memory.js";

const RUN = ["run", "--no-network", "--workspace", "none", "--workdir", "/"];
const PING = encodeFrame(FrameType.ping, 0, 0, Buffer.alloc(64));
const HELLO = encodeJson(FrameType.hello, 0, { protocol: 1, guest: "hostile", window: 65_536, features: ["exec"] });
const OPENED = encodeJson(FrameType.opened, 1, { pid: 7 });
const EXIT = encodeJson(FrameType.exit, 1, {
  code: 0,
  signal: null,
  usage: { user_us: 0, system_us: 0, max_rss_kib: 0 },
});
const eof = (stream: 1 | 2) => encodeFrame(FrameType.eof, 1, stream);
const data = (bytes: number, channel = 1) => encodeFrame(FrameType.data, channel, 1, Buffer.alloc(bytes, 0x61));
const ended = [HELLO, OPENED, eof(1), eof(2), EXIT];

/** A header that announces what never comes. */
function header(length: number, type: number, channel = 1, stream = 0, reserved = 0): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32LE(length, 0);
  bytes.writeUInt32LE(channel, 4);
  bytes.writeUInt8(type, 8);
  bytes.writeUInt8(stream, 9);
  bytes.writeUInt16LE(reserved, 10);
  return bytes;
}

const BREACHES: readonly (readonly [string, readonly Buffer[], ViolationReason])[] = [
  ["DATA of 4 GiB", [HELLO, OPENED, header(0xffff_ffff, FrameType.data, 1, 1)], "oversize"],
  ["DATA one byte too long", [HELLO, OPENED, header(262_145, FrameType.data, 1, 1)], "oversize"],
  ["JSON that is too long", [HELLO, header(65_537, FrameType.opened)], "oversize"],
  ["a type that is not known", [HELLO, header(0, 99)], "unknown-type"],
  ["reserved bits", [HELLO, header(0, FrameType.eof, 1, 1, 1)], "reserved"],
  ["a frame that only the host may send", [HELLO, encodeJson(FrameType.signal, 1, { signal: 9 })], "bad-direction"],
  ["JSON that is none", [HELLO, encodeFrame(FrameType.opened, 1, 0, Buffer.from("{"))], "bad-json"],
  ["bytes before HELLO", [OPENED], "before-hello"],
  ["HELLO twice", [HELLO, HELLO], "second-hello"],
  ["another version", [encodeJson(FrameType.hello, 0, { protocol: 2 })], "version-mismatch"],
  ["EXIT before OPENED", [HELLO, EXIT], "before-opened"],
  ["output before OPENED", [HELLO, data(1)], "before-opened"],
  ["OPENED twice", [HELLO, OPENED, OPENED], "second-answer"],
  ["EOF twice", [HELLO, OPENED, eof(1), eof(1)], "second-eof"],
  ["output after EOF", [HELLO, OPENED, eof(1), data(1)], "data-after-eof"],
  ["EXIT while output is open", [HELLO, OPENED, eof(1), EXIT], "terminal-before-eof"],
  ["credit ignored", [HELLO, OPENED, ...Array(5).fill(data(262_144))], "over-credit"],
  ["a channel that nobody opened", [HELLO, OPENED, data(1, 5)], "unknown-channel"],
  ["an id of the host's", [HELLO, encodeJson(FrameType.open, 3, { kind: "unheard-of" })], "bad-open-id"],
  ["an id used again", [HELLO, ...Array(2).fill(encodeJson(FrameType.open, 2, { kind: "unheard-of" }))], "bad-open-id"],
  [
    "EXIT with a code of its own kind",
    [HELLO, OPENED, eof(1), eof(2), encodeJson(FrameType.exit, 1, {})],
    "bad-member",
  ],
  ["EXIT twice", [...ended, EXIT], "after-terminal"],
  ["output after EXIT", [...ended, data(1)], "after-terminal"],
  ["PONG that nobody asked for", [HELLO, encodeFrame(FrameType.pong, 0)], "unasked-pong"],
];

describe("G1 a guest that breaks the protocol", () => {
  describe.each(actors)("as $name", (actor) => {
    let before: ReturnType<typeof traces>;
    let idle: Peak | null = null;
    beforeAll(async () => {
      // That the backend works is found out and remembered with a guest that keeps to the protocol.
      expect(await runIn(actor, ["true"])).toMatchObject({ status: 0 });
      before = traces();
    });
    afterAll(async () => {
      expect(await leaksSince(before)).toEqual([]);
    });

    it("is believed while it keeps to it, so what follows is about the breach alone", async () => {
      const sandbox = await hostileSandbox(actor);
      const exec = await order(sandbox, "play", ended);
      expect(await exec.exited).toMatchObject({ code: 0 });
      await sandbox.finish();
    });

    it.each(BREACHES)("%s: the sandbox ends with that reason", async (_name, frames, reason) => {
      const sandbox = await hostileSandbox(actor);
      const exec = await order(sandbox, "play", frames);
      // A breach after the last frame of an exec comes too late for that exec, not for the sandbox.
      if (reason !== "after-terminal") {
        await expect(exec.exited).rejects.toMatchObject({ code: "guest_protocol", details: { reason } });
      }
      await sandbox.ended;
      const error = { code: "guest_protocol", details: { reason } };
      await expect(order(sandbox, "silent")).rejects.toMatchObject(error);
    });

    it.each(["play", "drip"] as const)(
      "half a frame and then nothing: a time limit still ends it (%s)",
      async (how) => {
        const ran = await hostileRun(actor, [how, [HELLO, OPENED.subarray(0, 20)]], ["--timeout", "300ms"]);
        expect(ran.status).toBe(124);
      },
    );

    it.each(["cut", "die"] as const)(
      "half a frame and then the end (%s): the sandbox died, says the error",
      async (how) => {
        const ran = await hostileRun(actor, [how, [HELLO, OPENED.subarray(0, 20)]]);
        expect(ran.status).toBe(125);
        expect(ran.stderr).toMatch(/^agentkernel: The sandbox ended before/m);
      },
    );

    it("one byte at a time is slow, and as good as at once", async () => {
      const output = encodeFrame(FrameType.data, 1, 1, Buffer.from("slowly"));
      const whole = [HELLO, OPENED, output, eof(1), eof(2), EXIT];
      expect(await hostileRun(actor, ["drip", whole])).toMatchObject({ status: 0, stdout: "slowly" });
    });

    it.each<[string, Order]>([
      ["nothing at all", ["silent"]],
      ["only HELLO", ["play", [HELLO]]],
      ["only that the command runs", ["play", [HELLO, OPENED]]],
    ])("it says %s: the time limit and Ctrl-C still end the run", async (_name, words) => {
      const timedOut = hostileRun(actor, words, ["--timeout", "200ms"]);
      const run = holdCli(startCli(withHostileGuest(actor), [...RUN, "--", ...orderWords(...words)]));
      awaitGuest(awaitJail(run.pid));
      run.child.kill("SIGINT");
      expect([(await timedOut).status, (await run.ended()).status]).toEqual([124, 130]);
    });

    it("a message of the guest's cannot steer the user's terminal", async () => {
      const refusal = encodeJson(FrameType.failed, 1, { code: "io", message: "\u001b]0;owned\u0007" });
      const ran = await hostileRun(actor, ["play", [HELLO, refusal]]);
      expect(ran.status).toBe(125);
      expect(ran.stderr).not.toContain("\u001b");
      expect(ran.stderr).not.toContain("\u0007");
    });

    it.each<[string, Order, number]>([
      ["output without end, credit ignored", ["deaf", [HELLO, OPENED], [data(32_768)]], 125],
      ["PING without end, and nothing is read", ["deaf", [HELLO], [PING]], 124],
      ["PING without end, and the answers are read", ["flood", [HELLO], [PING]], 124],
      ["channels opened without end", ["opens", [HELLO]], 124],
    ])("%s: bounded memory, and the time limit holds", async (_name, words, status) => {
      idle ??= await hostilePeak(actor, ["silent"]);
      const flooded = await hostilePeak(actor, words);
      expect([idle.status, flooded.status]).toEqual([124, status]);
      expect(flooded.peakMiB - idle.peakMiB).toBeLessThan(64);
    });
  });
});

function hostileRun(actor: Actor, words: Order, options: readonly string[] = []): Promise<CliResult> {
  return runCli(withHostileGuest(actor), [...RUN, ...options, "--", ...orderWords(...words)]);
}

interface Peak {
  readonly status: number | null;
  readonly peakMiB: number;
}

async function hostilePeak(actor: Actor, words: Order): Promise<Peak> {
  const run = holdCli(startCli(withHostileGuest(actor), [...RUN, "--timeout", "600ms", "--", ...orderWords(...words)]));
  const peakMiB = await peakUntil(run.pid, run.ended());
  return { status: (await run.ended()).status, peakMiB };
}
