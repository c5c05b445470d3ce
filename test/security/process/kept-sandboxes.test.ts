import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { leavesNothingBehind } from "../../support/nothing-left.js";
import { killNow } from "../../support/process-tree.js";
import { inWorld, type SandboxWorld } from "../../support/sandbox-world.js";
import { findMarked, marked, untilNoneMarked } from "../support/process-marks.js";
import { compile, projectWith, runOutside } from "../support/process-programs.js";

const WAYS = ["fork", "deaf", "stop", "hold", "storm", "deep"];

async function memoryMiB(world: SandboxWorld): Promise<number> {
  const status = readFileSync(`/proc/${world.daemon.pid}/status`, "latin1");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  describe("P2 processes that try to survive a command in a sandbox that stays", () => {
    it("outside they do survive the one who started them", async () => {
      const mark = marked();
      await runOutside(actor, [compile("process/survive"), mark, "leave", "fork", "deaf"]);
      const left = findMarked(mark);
      expect(left.length).toBe(2);
      for (const { pid } of left) process.kill(pid, "SIGKILL");
    });

    it.each(["its time is up", "its client is killed", "it is interrupted twice", "the sandbox is stopped"])(
      "%s: none is left",
      async (how) => {
        const mark = marked();
        await inWorld(actor, async (world) => {
          const dir = projectWith(actor, "process/survive");
          await world.ok(["create", "--no-network", "--dir", dir, "box"]);
          await world.ok(["start", "box"]);
          const limit = how === "its time is up" ? ["--timeout", "1500ms"] : [];
          const cli = world.watch(["exec", ...limit, "box", "./survive", mark, ...WAYS]);
          await cli.until(/ready/);
          expect(findMarked(mark).length).toBeGreaterThan(WAYS.length);
          if (how === "its client is killed") killNow(cli.pid);
          if (how === "it is interrupted twice") for (const _ of [1, 2]) killNow(cli.pid, "SIGINT");
          if (how === "the sandbox is stopped") await world.ok(["stop", "--timeout", "500ms", "box"]);
          const { status } = await cli.end;
          if (how === "its time is up") expect(status).toBe(124);
          expect(await untilNoneMarked(mark)).toEqual([]);
          if (how !== "the sandbox is stopped")
            expect(await world.ok(["exec", "box", "echo", "works"])).toBe("works\n");
        });
      },
    );
  });

  it("P7 a command has descriptors 0, 1 and 2, and no other, however many are open in the daemon", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      const busy = world.watch(["exec", "box", "sh", "-c", "echo up; read go"]);
      await busy.until(/up/);
      await world.ok(["exec", "-d", "box", "sleep", "4601"]);
      const list =
        "import fcntl\\nfor fd in range(4096):\\n  try: fcntl.fcntl(fd, fcntl.F_GETFD); print(fd)\\n  except OSError: pass";
      const script = `exec python3 -c "$(printf '${list}')"`;
      expect(await world.ok(["exec", "box", "sh", "-c", script])).toBe("0\n1\n2\n");
      const id = (await world.ok(["exec", "-d", "box", "sh", "-c", script])).trim();
      expect(await world.ok(["logs", "--follow", "box", id])).toBe("0\n1\n2\n");
      busy.type("go\n");
      await busy.end;
    });
  });

  it("P8 names, folders and words of commands steer no terminal through list, info and errors", async () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    const raw = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/;
    const title = "\u001b]0;owned\u0007";
    await inWorld(actor, async (world) => {
      const parent = actor.folder();
      const dir = join(parent, `p${title}`);
      await runOutside(actor, ["mkdir", dir]);
      expect(readdirSync(parent)).toEqual([`p${title}`]);
      await world.ok(["create", "--no-network", "--dir", dir, "box"]);
      await world.ok(["start", "box"]);
      const tries = [
        ["list"],
        ["list", "--json"],
        ["exec", "box", "true", title],
        ["exec", "box", `./${title}`],
        ["exec", "--workdir", `/${title}`, "box", "true"],
        ["exec", "--user", title, "box", "true"],
        ["exec", "--env", `${title}=1`, "box", "true"],
        ["exec", title, "true"],
        ["logs", "box", title],
        ["info", "box"],
        ["stats", title],
        ["start", title],
        ["remove", title],
        ["create", title],
      ];
      for (const words of tries) {
        const { stdout, stderr } = await world.ak(words);
        expect(stdout + stderr, JSON.stringify(words)).not.toMatch(raw);
      }
      expect((await world.info("box")).execs.length).toBeGreaterThan(0);
    });
  });

  it("G2 endless output costs neither the daemon's memory nor the disk more than their bounds", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      const before = await memoryMiB(world);
      const unread = world.watch(["exec", "box", "sh", "-c", "echo up; yes"]);
      await unread.until(/up/);
      unread.child.stdout?.pause();
      const words = ["exec", "-d", "box", "sh", "-c", "yes | head -c 100000000; echo end"];
      const id = (await world.ok(words)).trim();
      const ended = async () => (await world.info("box")).execs.find((exec) => exec.id === id)?.state;
      await expect.poll(ended, { timeout: 60_000, interval: 100 }).toBe("ended");
      const logs = readdirSync(join(world.folder("box"), "execs")).filter((name) => name.includes(".log"));
      const bytes = logs.reduce((sum, name) => sum + statSync(join(world.folder("box"), "execs", name)).size, 0);
      expect(bytes).toBeLessThan(17 * 2 ** 20);
      const read = await world.ak(["logs", "box", id]);
      expect(read.stdout).toMatch(/y\nend\n$/);
      expect(read.stderr).toMatch(/^agentkernel: \d+ bytes of output are not kept any more$/m);
      expect((await memoryMiB(world)) - before).toBeLessThan(80);
      killNow(unread.pid);
      await unread.end;
    });
  });
});
