import { spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { testSettings } from "../../support/test-settings.js";
import { holdCli } from "../support/process-answers.js";
import { guestOf, marked } from "../support/process-marks.js";
import { own, runOutside } from "../support/process-programs.js";

/** Lists its open descriptors by trying each number, so that looking opens none. */
const LIST = `
import fcntl, os, sys
found = []
for fd in range(4096):
    try: fcntl.fcntl(fd, fcntl.F_GETFD); found.append(fd)
    except OSError: pass
print("open", found, flush=True)
for fd in found[3:]: print("secret", os.pread(fd, 99, 0))
sys.stdin.read()
`;

/** The same words with descriptors 3 to 9 open on a secret file, as a careless parent would leave them. */
function withLeaks(actor: Actor, secretFile: string, argv: readonly [string, ...string[]], cwd: string) {
  const leaked = openSync(secretFile, "r");
  try {
    const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
    const [program, ...words] = argv;
    return spawn(program, words, {
      ...identity,
      cwd,
      env: { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: actor.home, ...testSettings },
      stdio: ["pipe", "pipe", "pipe", ...Array<number>(7).fill(leaked)],
    });
  } finally {
    closeSync(leaked);
  }
}

/** What every descriptor of a process leads to. */
function targets(pid: number): readonly string[] {
  return readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      // Closed between the two looks.
      return "";
    }
  });
}

function parentOf(pid: number): number {
  return Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

describe("P7 descriptors that leaked into the command line", () => {
  describe.each(actors)("as $name", (actor) => {
    function plant(): { readonly cwd: string; readonly file: string } {
      const file = join(actor.folder("outside"), "secret");
      writeFileSync(file, "the secret");
      return { cwd: actor.folder(), file: own(actor, file) };
    }

    it("outside, a program inherits them and reads the secret", async () => {
      const { cwd, file } = plant();
      const run = holdCli(withLeaks(actor, file, ["python3", "-c", LIST], cwd));
      const ran = await run.release();
      expect(ran.stdout).toContain("open [0, 1, 2, 3, 4, 5, 6, 7, 8, 9");
      expect(ran.stdout).toContain("the secret");
    });

    it.each([
      ["with pipes", []],
      ["on a terminal", ["--tty"]],
      ["restrictive", ["--profile", "restrictive"]],
    ])(
      "inside, a command has 0, 1 and 2 only, and neither guest nor jail holds the rest (%s)",
      async (_how, options) => {
        const { cwd, file } = plant();
        const mark = marked();
        const cli = join(actor.dist, "agentkernel.js");
        const words = ["run", "--no-network", ...options, "python3", "-c", LIST, mark];
        const run = holdCli(withLeaks(actor, file, [process.execPath, cli, ...words], cwd));
        await run.saw(/open \[.*\]/);
        const guest = guestOf(mark);
        expect(targets(guest)).not.toContain(file);
        expect(targets(parentOf(guest))).not.toContain(file);
        // The program is what could leak; that the command line itself was given them is the premise.
        expect(targets(run.pid).filter((target) => target === file).length).toBe(7);
        run.child.stdin?.write("\u0004");
        const ran = await run.release();
        expect(ran.stdout).toContain("open [0, 1, 2]");
        expect(ran.stdout).not.toContain("secret");
      },
    );
  });

  it("no descriptor of ours has a path of the host behind it either", async () => {
    for (const actor of actors) {
      const ran = await runOutside(actor, [
        process.execPath,
        join(actor.dist, "agentkernel.js"),
        ...["run", "--no-network", "sh", "-c", "ls -l /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2"],
      ]);
      const links = [...ran.stdout.matchAll(/-> (.*)$/gm)].map((found) => found[1]);
      expect(links).toEqual([
        expect.stringMatching(/^pipe:|^\/dev\/null$/),
        ...Array(2).fill(expect.stringMatching(/^pipe:/)),
      ]);
    }
  });
});
