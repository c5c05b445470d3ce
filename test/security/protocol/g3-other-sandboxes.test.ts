import { describe, expect, it } from "vitest";
import { encodeFrame, encodeJson, FrameType } from "../../../src/guest/frame.js";
import type { GuestExec } from "../../../src/guest/index.js";
import { actors } from "../../support/actors.js";
import { runIn } from "../../support/run-cli.js";
import { honestSandbox, hostileSandbox, order } from "../support/process-hostile-guest.js";

const HELLO = encodeJson(FrameType.hello, 0, { protocol: 1, guest: "hostile", window: 65_536, features: ["exec"] });

/** A whole, faultless exec on this channel, as if a command had said something and ended well. */
function success(channel: number, says: string): readonly Buffer[] {
  return [
    encodeJson(FrameType.opened, channel, { pid: 7 }),
    encodeFrame(FrameType.data, channel, 1, Buffer.from(says)),
    encodeFrame(FrameType.eof, channel, 1),
    encodeFrame(FrameType.eof, channel, 2),
    encodeJson(FrameType.exit, channel, {
      code: 0,
      signal: null,
      usage: { user_us: 0, system_us: 0, max_rss_kib: 0 },
    }),
  ];
}

function outputOf(exec: GuestExec): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    exec.onOutput(2, { write: (_, done) => done(), end: () => {} });
    exec.onOutput(1, {
      write: (chunk, done) => {
        text += String(chunk);
        done();
      },
      end: () => resolve(text),
    });
  });
}

describe("G3 a guest that speaks for somebody else", () => {
  describe.each(actors)("as $name", (actor) => {
    it("cannot end or answer a command of another sandbox, by whatever channel", async () => {
      const [hostile, honest] = await Promise.all([hostileSandbox(actor), honestSandbox(actor)]);
      const env = { PATH: "/usr/bin:/bin" };
      const victim = await honest.exec({ argv: ["sh", "-c", "read word; echo $word"], cwd: "/", env, stdin: true });
      const said = outputOf(victim);
      await victim.opened;
      // The same channel numbers as the victim's, in order: its own exec ends, then it goes on for the next.
      const forged = await order(hostile, "play", [HELLO, ...success(1, "forged"), ...success(3, "forged")]);
      await expect(outputOf(forged)).resolves.toBe("forged");
      await hostile.ended;
      victim.writeStdin(Buffer.from("untouched\n"));
      expect(await said).toBe("untouched\n");
      expect(await victim.exited).toMatchObject({ code: 0 });
      await honest.finish();
    });

    it("that is ended for a breach takes nobody with it, also when there are many", async () => {
      const honest = await honestSandbox(actor);
      const env = { PATH: "/usr/bin:/bin" };
      const victim = await honest.exec({ argv: ["cat"], cwd: "/", env, stdin: true });
      const said = outputOf(victim);
      const attacks = Array.from({ length: 4 }, async () => {
        const hostile = await hostileSandbox(actor);
        const exec = await order(hostile, "play", [HELLO, Buffer.alloc(64, 0xff)]);
        await expect(exec.exited).rejects.toMatchObject({ code: "guest_protocol" });
        await hostile.ended;
      });
      await Promise.all(attacks);
      victim.writeStdin(Buffer.from("untouched"));
      victim.endStdin();
      expect(await said).toBe("untouched");
      expect(await victim.exited).toMatchObject({ code: 0 });
      await honest.finish();
    });

    it("cannot end one of its own commands twice, so a late lie about another one ends the sandbox", async () => {
      const hostile = await hostileSandbox(actor);
      const first = await order(hostile, "play", [HELLO]);
      const second = await order(hostile, "play", [...success(3, "second"), ...success(3, "again")]);
      await expect(outputOf(second)).resolves.toBe("second");
      expect(await second.exited).toMatchObject({ code: 0 });
      const breach = { code: "guest_protocol", details: { reason: "after-terminal" } };
      await expect(first.exited).rejects.toMatchObject(breach);
      await hostile.ended;
    });

    it("a command that prints frames prints bytes: nothing in it reaches the guest's stream", async () => {
      const frames = Buffer.concat([HELLO, ...success(1, "forged")]);
      const words = [
        "python3",
        "-c",
        `import sys; sys.stdout.buffer.write(bytes.fromhex("${frames.toString("hex")}")); sys.exit(3)`,
      ];
      const ran = await runIn(actor, words);
      expect(ran.status).toBe(3);
      expect(ran.stdoutBytes.equals(frames)).toBe(true);
      const steal = "import os, socket; socket.socket(fileno=3).send(b'x')";
      expect((await runIn(actor, ["python3", "-c", steal])).stderr).toContain("Bad file descriptor");
    });
  });
});
