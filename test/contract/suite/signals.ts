/** Signals to a command, its group and its whole tree; several commands at once; a time limit that ends them all. */
import { expect } from "vitest";
import { CommandWait } from "../../../src/runtime/command-end.js";
import type { Contract } from "./contract.js";
import type { Subject } from "./subject.js";

const SIGKILL = 9;
const SIGTERM = 15;
const SIGUSR1 = 10;

/** Leaves the session and the group, is no child of the shell any more, ignores what can be ignored, holds stdout. */
const stubborn = (seconds: number) => `(trap '' TERM HUP INT; setsid sh -c "trap '' TERM HUP INT; sleep ${seconds}" &)`;

/** Whether a process with this word on its command line is there, the one that looks not counted. */
async function runs(sandbox: Subject, word: string): Promise<boolean> {
  const { stdout } = await sandbox.sh(
    `for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f; echo; done 2>/dev/null | grep -c '^slee[p] ${word} '`,
  );
  return Number(stdout) > 0;
}

/** Nothing tells when a process is reaped inside, so this looks again and again until it holds. */
async function gone(sandbox: Subject, word: string): Promise<void> {
  while (await runs(sandbox, word));
}

export function signalsContract(contract: Contract): void {
  contract.capability("concurrent-commands", (test) => {
    test("many at once keep their own output, stdin and status", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const results = await Promise.all(
          Array.from({ length: 40 }, (_, at) => sandbox.sh(`cat; echo ${at}; exit ${at}`, { stdin: `in ${at}\n` })),
        );
        results.forEach((ran, at) => {
          expect(ran).toMatchObject({ code: at, stdout: `in ${at}\n${at}\n` });
        });
      });
    });

    test("they see each other's files and processes", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const first = await sandbox.start(["sh", "-c", "echo $$; read go; cat /tmp/note"], { stdin: true });
        const [pid] = await first.until(/\d+/);
        expect(await sandbox.sh(`kill -0 ${pid} && echo note > /tmp/note`)).toMatchObject({ code: 0 });
        first.type("\n");
        expect((await first.ran()).stdout).toBe(`${pid}\nnote\n`);
      });
    });

    test("closing one kills its tree and leaves the others", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const other = await sandbox.start(["cat"], { stdin: true });
        const closed = await sandbox.start(["sh", "-c", `${stubborn(4001)}; echo up; sleep 4001`]);
        await closed.until(/up/);
        closed.exec.close();
        expect(await closed.ran()).toMatchObject({ signal: SIGKILL });
        await gone(sandbox, "4001");
        other.type("alive\n");
        await other.until(/alive/);
      });
    });
  });

  contract.capability("signals", (test) => {
    test("to the process: only the command gets it", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const script =
          // It ends in the trap: the signal may come before the shell waits.
          "trap 'echo told; kill $!; exit' USR1; (trap 'echo child told' USR1; echo up; while :; do sleep 0.01; done) & wait";
        const command = await sandbox.start(["sh", "-c", script]);
        await command.until(/up/);
        command.exec.signal(SIGUSR1, "process");
        expect((await command.ran()).stdout).toBe("up\ntold\n");
      });
    });

    test("to the group: its children get it as well, who left the group does not", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const script = "setsid sleep 4002 & sleep 4003 & echo up; wait";
        const command = await sandbox.start(["sh", "-c", script]);
        await command.until(/up/);
        while (!(await runs(sandbox, "4002")) || !(await runs(sandbox, "4003")));
        command.exec.signal(SIGTERM, "group");
        expect(await command.ran()).toMatchObject({ signal: SIGTERM });
        await gone(sandbox, "4003");
        expect(await runs(sandbox, "4002")).toBe(true);
      });
    });

    test("to the tree: whoever descends from it gets it, whatever it left or became", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const command = await sandbox.start(["sh", "-c", `${stubborn(4004)}; echo up; sleep 4004`]);
        await command.until(/up/);
        while (!(await runs(sandbox, "4004")));
        command.exec.signal(SIGKILL, "tree");
        expect(await command.ran()).toMatchObject({ signal: SIGKILL });
        await gone(sandbox, "4004");
      });
    });
  });

  contract.capability("timeout", (test) => {
    test("a command that listens ends at its time limit, and says so", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const command = await sandbox.start(["sh", "-c", "trap 'exit 7' TERM; echo up; while :; do sleep 0.01; done"]);
        await command.until(/up/);
        const { exit, timedOut } = await new CommandWait(command.exec, 50).end;
        expect({ code: exit.code, timedOut }).toEqual({ code: 7, timedOut: true });
      });
    });

    test("a tree that ignores everything and holds stdout is gone with the sandbox", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const script = `trap '' TERM HUP INT; ${stubborn(4005)}; echo up; while :; do sleep 4005; done`;
        const command = await sandbox.start(["sh", "-c", script]);
        await command.until(/up/);
        const startedAt = performance.now();
        const { timedOut } = await new CommandWait(command.exec, 50).end;
        const end = await sandbox.finish();
        expect(timedOut).toBe(true);
        expect(performance.now() - startedAt).toBeLessThan(20_000);
        expect(end.signal ?? end.code).not.toBeNull();
        await expect(command.exec.exited).rejects.toMatchObject({ code: "sandbox_died" });
      });
    });
  });
}
