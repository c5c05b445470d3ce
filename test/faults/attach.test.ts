/** Whatever dies or stops around a terminal of a sandbox: the user's own is restored, the sandbox's goes on, nobody waits. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { guestOf, supervisorOf } from "../contract/suite/kept-subject.js";
import { actors } from "../support/actors.js";
import { Attached, type Person } from "../support/attached.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { processIn, residentMiB } from "../support/process-of.js";
import { killNow } from "../support/process-tree.js";

function clientOf({ tmux }: Person): number {
  return processIn(tmux.folder, "ak-client");
}

async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  for (const deadline = Date.now() + 45_000; Date.now() < deadline; ) if (await condition()) return;
  throw new Error(`${what} did not happen`);
}

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  it("kill -9 of the daemon: viewers are told, the editor goes on, and the next daemon shows it", async () => {
    await Attached.use(actor, async (world) => {
      const [one, two] = [await world.person(), await world.person()];
      await one.attachToShell();
      const [terminal] = await world.terminals();
      two.attach("--terminal", terminal?.id ?? "");
      await two.tmux.until(/^inside>/m);
      one.tmux.type("word=kept; vim.tiny -u NONE -N -c 'set laststatus=2' letter.txt\n");
      for (const { tmux } of [one, two]) await tmux.until(/^letter\.txt/m);
      // An editor that starts may throw away what was typed ahead.
      one.tmux.type("i");
      // An editor asks its terminal what it is. Both answer, and a late answer would be typed into the text.
      for (const { tmux } of [one, two]) await tmux.until(/^-- INSERT --/m);
      one.tmux.type("saved");
      one.tmux.key("Escape");
      for (const { tmux } of [one, two]) await tmux.until(/^saved$/m);
      killNow(world.daemon.pid);
      await world.daemon.exited;
      for (const person of [one, two]) {
        expect(await person.left()).toBe(125);
        const told = `the daemon ended; the sandbox box and its terminal ${terminal?.id} go on without it\n  hint: `;
        expect(person.tmux.screen()).toContain(`agentkernel: ${told}`);
      }
      await world.nextDaemon();
      expect(await world.terminals()).toMatchObject([{ id: terminal?.id, viewers: 0, command: ["sh"] }]);
      one.attach();
      await one.tmux.until(/^saved\n(?:~\n)+letter\.txt \[\+\]/);
      one.tmux.type(":wq\n");
      await one.tmux.until(/^inside>/m);
      one.tmux.type("clear; echo $word; cat letter.txt; exit 5\n");
      expect(await one.left()).toBe(5);
      expect((await world.cli("exec", "box", "cat", "letter.txt")).stdout).toBe("saved\n");
      expect(await world.terminals()).toEqual([]);
    });
  });

  it("kill -9 of the daemon while a program prints: the next one goes on where it was, and no line is lost", async () => {
    await Attached.use(actor, async (world) => {
      const person = await world.person();
      await person.attachToShell();
      person.tmux.type("n=0; while n=$((n + 1)); do echo line $n; sleep 0.01; done\n");
      const [, before] = await person.tmux.until(/^line (\d+)$/m);
      killNow(world.daemon.pid);
      expect(await person.left()).toBe(125);
      await world.nextDaemon();
      person.attach();
      await person.tmux.until(new RegExp(`^line ${Number(before) + 100}$`, "m"));
      const shown = [...person.tmux.screen().matchAll(/^line (\d+)$/gm)].map(([, number]) => Number(number));
      expect(shown.length).toBeGreaterThan(10);
      expect(shown).toEqual(shown.map((_, at) => (shown[0] ?? 0) + at));
      person.tmux.key("C-c");
    });
  });

  it("kill -9 of the daemon ends a command of exec --tty, and the user's screen is as before", async () => {
    await Attached.use(actor, async (world) => {
      const person = await world.person();
      person.type("exec --tty box vim.tiny -u NONE -N x");
      await person.tmux.until(/^~$/m);
      killNow(world.daemon.pid);
      expect(await person.left()).toBe(125);
      expect(person.tmux.screen()).toContain(
        "agentkernel: the daemon ended, and the command with it; the sandbox box goes on",
      );
      await world.nextDaemon();
      expect((await world.cli("exec", "box", "echo", "on")).stdout).toBe("on\n");
    });
  });

  it("a daemon that is stopped lets viewers go, and the next one has the terminal", async () => {
    await Attached.use(actor, async (world) => {
      const person = await world.person();
      await person.attachToShell();
      person.tmux.type("word=kept; echo is $word\n");
      await person.tmux.until(/^is kept$/m);
      expect(await world.daemon.stop()).toBe(0);
      expect(await person.left()).toBe(143);
      await world.nextDaemon();
      person.attach();
      await person.tmux.until(/^inside>/m);
      person.tmux.type("echo still $word\n");
      await person.tmux.until(/^still kept$/m);
    });
  });

  it.each(["supervisor", "first process"] as const)("kill -9 of the sandbox's %s: viewers are told", async (victim) => {
    await Attached.use(actor, async (world) => {
      const person = await world.person();
      person.attach();
      await person.tmux.until(/^box:\/workspace[#$]/m);
      const state = join(world.client.home, ".local/state/agentkernel/sandboxes/box/jail");
      killNow(victim === "supervisor" ? supervisorOf(state) : guestOf(state));
      expect(await person.left()).toBe(125);
      expect(person.tmux.screen()).toMatch(/agentkernel: the terminal t[0-9a-f]{8} of box is gone: /);
      await expect.poll(async () => (await world.cli("info", "box")).stdout).toMatch(/^State +stopped/m);
    });
  });

  it.each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
    ["SIGINT", 130],
  ] as const)("%s to the client leaves the terminal, which goes on", async (signal, status) => {
    await Attached.use(actor, async (world) => {
      const person = await world.person();
      await person.attachToShell();
      killNow(clientOf(person), signal);
      expect(await person.left()).toBe(status);
      expect(await world.terminals()).toMatchObject([{ viewers: 0 }]);
    });
  });

  it("a client that is killed, or whose window is closed, is missed by nobody", async () => {
    await Attached.use(actor, async (world) => {
      const [one, two, three] = [await world.person(), await world.person(), await world.person({ rows: 10 })];
      await one.attachToShell();
      const [terminal] = await world.terminals();
      for (const person of [two, three]) {
        person.attach("--terminal", terminal?.id ?? "");
        await person.tmux.until(/^inside>/m);
      }
      killNow(clientOf(two));
      three.tmux.close();
      await until(async () => (await world.terminals())[0]?.viewers === 1, "the two being gone");
      one.tmux.type("clear; stty size; echo alone\n");
      await one.tmux.until(/^24 80\nalone$/m);
      one.tmux.type("exit\n");
      expect(await one.left()).toBe(0);
    });
  });

  it("a viewer that has stopped reading stalls nothing, costs no memory, and is shown where things stand later", async () => {
    await Attached.use(actor, async (world) => {
      const person = await world.person();
      // The shell outside must not look after a job that is stopped.
      person.tmux.type("set +m\n");
      await person.attachToShell();
      await world.cli("exec", "box", "true");
      const before = residentMiB(world.daemon.pid);
      const client = clientOf(person);
      person.tmux.type("mkfifo /tmp/done; yes | head -c 40000000; echo > /tmp/done; echo finished\n");
      await person.tmux.until(/^y\ny\ny$/m);
      killNow(client, "SIGSTOP");
      try {
        expect((await world.cli("exec", "box", "sh", "-c", "read done < /tmp/done")).status).toBe(0);
        expect(residentMiB(world.daemon.pid) - before).toBeLessThan(32);
      } finally {
        killNow(client, "SIGCONT");
      }
      await person.tmux.until(/^finished\ninside>$/m);
      person.tmux.type("exit 3\n");
      expect(await person.left()).toBe(3);
    });
  });

  it("a viewer that has stopped reading holds no other one up", async () => {
    await Attached.use(actor, async (world) => {
      const [stuck, quick] = [await world.person(), await world.person()];
      stuck.tmux.type("set +m\n");
      await stuck.attachToShell();
      const [terminal] = await world.terminals();
      quick.attach("--terminal", terminal?.id ?? "");
      await quick.tmux.until(/^inside>/m);
      const client = clientOf(stuck);
      killNow(client, "SIGSTOP");
      try {
        quick.tmux.type("yes | head -c 3000000; clear; echo all of it\n");
        await quick.tmux.until(/^all of it$/m);
      } finally {
        killNow(client, "SIGCONT");
      }
      await stuck.tmux.until(/^all of it$/m);
      stuck.tmux.type("exit 2\n");
      for (const person of [stuck, quick]) expect(await person.left()).toBe(2);
    });
  });
});
