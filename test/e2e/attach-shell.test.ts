/** `attach` on a real terminal: a shell in a sandbox is used as a local one. */
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { Attached } from "../support/attached.js";
import { leavesNothingBehind } from "../support/nothing-left.js";

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  it("a shell has a terminal of the window's size, follows it, and its status is attach's", async () => {
    await Attached.use(actor, async (world) => {
      const person = await world.person({ cols: 90, rows: 20 });
      const { tmux } = person;
      await person.attachToShell();
      tmux.type("tty; stty size\n");
      await tmux.until(/^\/dev\/pts\/\d+\n20 90$/m);
      tmux.resize(70, 15);
      tmux.type("clear; stty size\n");
      await tmux.until(/^15 70$/m);
      tmux.type("exit 7\n");
      expect(await person.left()).toBe(7);
      expect(await world.terminals()).toEqual([]);
      const audit = async () => (await world.cli("audit", "list", "--type", "exec", "--limit", "2")).stdout;
      const onRecord = /exec\.start +box\.\w+ +sh\n.*exec\.end +box\.\w+ +status 7 /;
      await expect.poll(audit).toMatch(onRecord);
    });
  });

  it("Ctrl-C and Ctrl-Z mean the program inside", async () => {
    await Attached.use(actor, async (world) => {
      const person = await world.person();
      const { tmux } = person;
      await person.attachToShell();
      tmux.type("sh -c 'trap \"echo caught; exit 9\" INT; echo up; while :; do sleep 0.05; done'\n");
      await tmux.until(/^up$/m);
      tmux.key("C-c");
      await tmux.until(/^\^?C?caught$/m);
      tmux.type("echo got=$?\n");
      await tmux.until(/^got=9$/m);
      tmux.type("clear; sh -c 'echo ready; read word; echo read:$word'\n");
      await tmux.until(/^ready$/m);
      tmux.key("C-z");
      await tmux.until(/Stopped/);
      tmux.type("jobs; fg\n");
      await tmux.until(/Stopped[\s\S]*\nsh -c /);
      tmux.type("hello\n");
      await tmux.until(/^read:hello$/m);
      tmux.key("C-d");
      expect(await person.left()).toBe(0);
    });
  });

  it("the shell is bash where there is one, and another or any command where that is wished for", async () => {
    await Attached.use(actor, async (world) => {
      const person = await world.person();
      const { tmux } = person;
      person.attach();
      await tmux.until(/^box:\/workspace[#$]/m);
      tmux.type("exit\n");
      expect(await person.left()).toBe(0);
      person.attach("--shell", "no-such-shell");
      expect(await person.left()).toBe(127);
      tmux.type("agentkernel attach box -- sh -c 'echo $0 $1; exit 3' one two; echo status=$?\n");
      await tmux.until(/^one two\nstatus=3$/m);
      expect(await world.terminals()).toEqual([]);
    });
  });

  it("what cannot be meant is refused", async () => {
    await Attached.use(actor, async (world) => {
      const piped = await world.cli("attach", "box");
      expect(piped).toMatchObject({ status: 125 });
      expect(piped.stderr).toMatch(/attach needs a terminal, and stdin is none\n {2}hint: .*agentkernel exec box /);
      for (const [words, message] of [
        [["--detach-keys", "'ctrl-\u001b[31m'"], /--detach-keys: .* is no key/],
        [["--terminal", "t00000000"], /there is no terminal t00000000/],
        [["--terminal", "t00000000", "--new"], /--terminal contradicts --new/],
        [["--shell", "sh", "--detach-keys", "''"], /--detach-keys: "": a key is missing/],
        [["--workdir", "nowhere"], /the working folder \/workspace\/nowhere does not exist in the sandbox/],
      ] as const) {
        const person = await world.person({ cols: 160 });
        person.attach(...words);
        expect(await person.left()).toBe(125);
        expect(person.tmux.screen()).toMatch(message);
      }
      expect(await world.terminals()).toEqual([]);
    });
  });

  it("a sandbox with a shell that nobody leaves can be stopped at once, and the user is told", async () => {
    await Attached.use(actor, async (world) => {
      const person = await world.person();
      person.attach();
      await person.tmux.until(/^box:\/workspace[#$]/m);
      const before = Date.now();
      expect((await world.cli("stop", "--timeout", "20s", "box")).status).toBe(0);
      expect(Date.now() - before).toBeLessThan(10_000);
      expect(await person.left()).toBe(129);
      expect((await world.cli("info", "box")).stdout).toMatch(/^State +stopped/m);
    });
  });
});
