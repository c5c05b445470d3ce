/** Terminals of a sandbox outlive whoever looks at them: detach, reattach, several at once. */
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { Attached } from "../support/attached.js";
import { leavesNothingBehind } from "../support/nothing-left.js";

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  it("a terminal that is left goes on, and shows the last of it to whoever comes back", async () => {
    await Attached.use(actor, async (world) => {
      const person = await world.person();
      const { tmux } = person;
      await person.attachToShell();
      tmux.type("word=kept; mkfifo /tmp/go; (read go < /tmp/go; echo meanwhile) & echo before\n");
      await tmux.until(/^before$/m);
      person.detach();
      expect(await person.left()).toBe(0);
      await tmux.until(/agentkernel: detached; the terminal goes on: agentkernel attach --terminal t[0-9a-f]{8} box/);
      const [terminal] = await world.terminals();
      expect(terminal).toMatchObject({ viewers: 0, columns: 80, rows: 24, command: ["sh"] });
      expect((await world.cli("list")).stdout).toMatch(/TERMINALS\nbox .* 1\n$/);
      expect((await world.cli("exec", "box", "sh", "-c", "echo > /tmp/go")).status).toBe(0);
      person.attach();
      await tmux.until(/^before$[\s\S]*^(inside> )?meanwhile$/m);
      tmux.type("echo $word\n");
      await tmux.until(/^kept$/m);
      expect((await world.terminals()).map(({ id, viewers }) => [id, viewers])).toEqual([[terminal?.id, 1]]);
      tmux.type("exit 4\n");
      expect(await person.left()).toBe(4);
    });
  });

  it("a program is told to draw anew for whoever comes back, also with a window of the same size", async () => {
    await Attached.use(actor, async (world) => {
      const person = await world.person();
      const { tmux } = person;
      await person.attachToShell();
      tmux.type("sh -c 'trap \"echo drawn\" WINCH; echo up; while :; do sleep 0.05; done'\n");
      await tmux.until(/^up$/m);
      expect(tmux.screen()).not.toMatch(/^drawn$/m);
      person.detach();
      await person.left();
      person.attach();
      await tmux.until(/^drawn$/m);
      tmux.key("C-c");
      await tmux.until(/inside>$/);
      tmux.type("until stty size | grep '^24 80$'; do :; done\n");
      await tmux.until(/^24 80$/m);
    });
  });

  it("the keys that leave can be others, and the first of the usual ones alone is the program's", async () => {
    await Attached.use(actor, async (world) => {
      const person = await world.person();
      const { tmux } = person;
      await person.attachToShell("--detach-keys", "ctrl-a,d");
      tmux.key("C-a");
      tmux.type("d");
      expect(await person.left()).toBe(0);
      person.attach();
      await tmux.until(/^inside>/m);
      tmux.type("clear; cat -v\n");
      tmux.key("C-p");
      await tmux.until(/^\^P/m);
      tmux.key("C-c");
      person.detach();
      expect(await person.left()).toBe(0);
    });
  });

  it("attach goes back to what nobody looks at, opens another where there is none, or as it is told", async () => {
    await Attached.use(actor, async (world) => {
      const [one, two, three] = [await world.person(), await world.person(), await world.person()];
      await one.attachToShell();
      one.tmux.type("echo first one\n");
      two.attach();
      await two.tmux.until(/^box:\/workspace[#$]/m);
      expect((await world.terminals()).map(({ viewers }) => viewers)).toEqual([1, 1]);
      one.detach();
      await one.left();
      three.attach();
      await three.tmux.until(/^first one$/m);
      one.attach("--new");
      await one.tmux.until(/^box:\/workspace[#$]/m);
      expect((await world.terminals()).map(({ viewers }) => viewers)).toEqual([1, 1, 1]);
    });
  });

  it("several look at one terminal: the same on all screens, typed by any, no larger than the smallest window", async () => {
    await Attached.use(actor, async (world) => {
      const one = await world.person({ cols: 100, rows: 20 });
      const two = await world.person({ cols: 80, rows: 30 });
      await one.attachToShell();
      const [terminal] = await world.terminals();
      two.attach("--terminal", terminal?.id ?? "");
      await two.tmux.until(/^inside>/m);
      one.tmux.type("clear; stty size\n");
      for (const { tmux } of [one, two]) await tmux.until(/^20 80$/m);
      two.tmux.type("echo from two\n");
      for (const { tmux } of [one, two]) await tmux.until(/^from two$/m);
      expect((await world.terminals()).map(({ viewers }) => viewers)).toEqual([2]);
      two.detach();
      expect(await two.left()).toBe(0);
      one.tmux.type("clear; stty size\n");
      await one.tmux.until(/^20 100$/m);
      two.attach("--terminal", terminal?.id ?? "");
      await two.tmux.until(/^inside>/m);
      one.tmux.type("exit 6\n");
      expect(await one.left()).toBe(6);
      expect(await two.left()).toBe(6);
    });
  });
});
