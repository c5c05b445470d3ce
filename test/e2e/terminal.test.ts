/** `run --tty` on a real terminal, driven by terminal-session.py as a person would. */
import { describe, expect, it } from "vitest";
import { callers, usesDaemon } from "../support/daemon.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { runIn } from "../support/run-cli.js";
import { onTerminal, type Step } from "../support/terminal.js";

describe.each(callers)("$title", (actor) => {
  usesDaemon(actor);
  leavesNothingBehind();

  it("the command has a terminal of the window's size, and its own status", () => {
    const script = "tty; stty size; echo TERM=$TERM; exit 3";
    const session = onTerminal(actor, ["--tty", "sh", "-c", script], []);
    expect(session.output).toMatch(/^(agentkernel: .*\r\n)?\/dev\/pts\/\d+\r\n24 80\r\nTERM=xterm\r\n/);
    expect(session).toMatchObject({ status: 3, restored: true });
  });

  it("the prompt of a shell has the sandbox's name", () => {
    const session = onTerminal(
      actor,
      ["-t", "sh"],
      [{ expect: ":/workspace" }, { type: "uname -n; exit\n" }, { expect: "run-" }],
    );
    const [, name = ""] = /(run-[0-9a-f]+):\/workspace[#$] /.exec(session.output) ?? [];
    expect(session.output).toContain(`\r\n${name}\r\n`);
    expect(session).toMatchObject({ status: 0, restored: true });
  });

  it("its bytes reach the window unchanged, as a full-screen program needs it", () => {
    const session = onTerminal(actor, ["-t", "sh", "-c", "stty -opost; printf 'one\\ntwo\\r\\nthree'"], []);
    expect(session.output).toMatch(/^(agentkernel: .*\r\n)?one\ntwo\r\nthree/);
  });

  it("it follows the window when that is resized", () => {
    const script = "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.01; done";
    const session = onTerminal(
      actor,
      ["-t", "sh", "-c", script],
      [{ expect: "ready" }, { resize: [50, 132] }, { expect: "50 132" }],
    );
    expect(session).toMatchObject({ status: 0, restored: true });
  });

  it("what is typed reaches the command, and is echoed once", () => {
    const session = onTerminal(
      actor,
      ["-t", "sh", "-c", "echo ready; read line; echo got:$line"],
      [{ expect: "ready" }, { type: "hello\n" }, { expect: "got:hello" }],
    );
    expect(session.output.match(/hello/g)).toHaveLength(2);
    expect(session).toMatchObject({ status: 0, restored: true });
  });

  it("Ctrl-C interrupts the command inside, not agentkernel", () => {
    const script = "trap 'echo interrupted; exit 9' INT; echo ready; while :; do sleep 0.01; done";
    const session = onTerminal(
      actor,
      ["-t", "sh", "-c", script],
      [{ expect: "ready" }, { type: "\u0003" }, { expect: "interrupted" }],
    );
    expect(session).toMatchObject({ status: 9, restored: true });
  });

  it("Ctrl-D ends its input", () => {
    const session = onTerminal(
      actor,
      ["-t", "sh", "-c", "echo ready; cat; echo over"],
      [{ expect: "ready" }, { type: "\u0004" }, { expect: "over" }],
    );
    expect(session).toMatchObject({ status: 0, restored: true });
  });

  it("whatever the command does to its terminal, and however it ends, the user's is as before", () => {
    const ends: readonly [readonly string[], readonly Step[], number][] = [
      [["-t", "sh", "-c", "stty raw -echo; kill -9 $$"], [], 137],
      [["-t", "--timeout", "300ms", "sh", "-c", "stty raw -echo; sleep 4203"], [], 124],
      [["-t", "sh", "-c", "stty raw; echo ready; sleep 4203"], [{ expect: "ready" }, { signal: 15 }], 143],
      [["-t", "no-such-command"], [], 127],
    ];
    for (const [words, steps, status] of ends) {
      expect(onTerminal(actor, words, steps), words.join(" ")).toMatchObject({ status, restored: true });
    }
  });

  it("without --tty, a command on a terminal has none, but reads what is typed", () => {
    const session = onTerminal(
      actor,
      ["sh", "-c", "test -t 0 || echo no terminal; read line; echo got:$line"],
      [{ expect: "no terminal" }, { type: "hello\n" }, { expect: "got:hello" }],
    );
    expect(session).toMatchObject({ status: 0, restored: true });
  });

  it("--tty without a terminal around still gives the command one", async () => {
    const result = await runIn(actor, ["--tty", "sh", "-c", "tty; stty size"]);
    expect(result.status).toBe(0);
    expect(result.stdout).toMatch(/^\/dev\/pts\/\d+\r\n24 80\r\n$/);
  });

  it.each([
    ["a shell that reads lines itself", ["bash", "--norc", "-i"], ""],
    ["a program that reads twice", ["sh", "-c", "cat; cat; echo over"], ""],
    ["one that is given a line without its end", ["sh", "-c", "cat; echo over"], "a line"],
  ])("with --tty, input that is no terminal has an end for %s", async (_, words, stdin) => {
    const result = await runIn(actor, ["--tty", ...words], { stdin, deadlineMs: 30_000 });
    expect(result.status, result.stdout + result.stderr).toBe(0);
    if (words[0] === "sh") expect(result.stdout).toContain("over");
    expect(result.stdout).toContain(stdin);
  });
});
