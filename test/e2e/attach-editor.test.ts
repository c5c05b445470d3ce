/** A full-screen program on a terminal of a sandbox: drawn anew whenever somebody begins to look, and gone when they leave. */
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { Attached } from "../support/attached.js";
import { leavesNothingBehind } from "../support/nothing-left.js";

const EDITOR = "vim.tiny -u NONE -N -c 'set ruler laststatus=2'";

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  it("vim opens, writes and quits, and is drawn anew after a resize and a return", async () => {
    await Attached.use(actor, async (world) => {
      const person = await world.person();
      const { tmux } = person;
      await person.attachToShell();
      tmux.type(`echo on the way; ${EDITOR} letter.txt\n`);
      await tmux.until(/^~$[\s\S]*^letter\.txt .*0,0-1/m);
      expect(tmux.isOtherScreen).toBe(true);
      tmux.type("i");
      await tmux.until(/^-- INSERT --/m);
      tmux.type("dear all");
      tmux.key("Escape");
      await tmux.until(/^dear all$/m);
      // The status line is the last but one, whatever the size.
      tmux.resize(60, 16);
      await tmux.until(/^dear all\n(?:~\n){13}letter\.txt \[\+\] .*1,8/);
      person.detach();
      expect(await person.left()).toBe(0);
      // The window is of the same size, so that nothing but a nudge makes vim draw.
      person.attach();
      await tmux.until(/^dear all\n(?:~\n){13}letter\.txt \[\+\] .*1,8/);
      expect(tmux.isOtherScreen).toBe(true);
      person.detach();
      await person.left();
      tmux.resize(70, 12);
      person.attach();
      await tmux.until(/^dear all\n(?:~\n){9}letter\.txt \[\+\] .*1,8/);
      tmux.type(":wq\n");
      await tmux.until(/^inside>/m);
      expect(tmux.isOtherScreen).toBe(false);
      tmux.type("cat letter.txt; exit\n");
      expect(await person.left()).toBe(0);
      expect((await world.cli("exec", "box", "cat", "letter.txt")).stdout).toBe("dear all\n");
    });
  });

  it("whoever leaves an editor has their own screen back, however they leave", async () => {
    await Attached.use(actor, async (world) => {
      const person = await world.person();
      const { tmux } = person;
      tmux.type("agentkernel attach box -- sh -c 'echo $$ > /tmp/shell; exec vim.tiny -u NONE -N x'; echo status=$?\n");
      await tmux.until(/^~$/m);
      person.detach();
      await tmux.until(/^status=0$/m);
      expect(tmux.isOtherScreen).toBe(false);
      person.attach();
      await tmux.until(/^~$/m);
      await world.cli("exec", "box", "sh", "-c", "kill -9 $(cat /tmp/shell)");
      expect(await person.left()).toBe(137);
      expect(await world.terminals()).toEqual([]);
    });
  });
});
