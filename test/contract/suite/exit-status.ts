/** How a command ended, or why it did not begin. */
import { expect } from "vitest";
import type { Contract } from "./contract.js";

export function exitStatusContract(contract: Contract): void {
  contract.capability("exit-status", (test) => {
    test("the command's own status, whatever it is", async () => {
      await contract.sandbox({}, async (sandbox) => {
        for (const code of [0, 1, 3, 124, 125, 126, 127, 255]) {
          expect(await sandbox.sh(`exit ${code}`)).toMatchObject({ code, signal: null });
        }
      });
    });

    test("the signal that killed it", async () => {
      await contract.sandbox({}, async (sandbox) => {
        for (const signal of [1, 6, 9, 11, 15]) {
          expect(await sandbox.sh(`kill -${signal} $$`)).toMatchObject({ code: null, signal });
        }
      });
    });

    test("the processor time and memory that it took", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const { exit } = await sandbox.sh("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
        expect(exit.usage.userUs).toBeGreaterThan(1000);
        expect(exit.usage.maxRssKiB).toBeGreaterThan(100);
      });
    });

    const refusals: readonly [string, readonly string[], string][] = [
      ["a name that is no command", ["no-such-command"], "command_not_found"],
      ["a path that is not there", ["/no/such/command"], "command_not_found"],
      ["a file that is not executable", ["/etc/passwd"], "command_not_executable"],
      ["a folder", ["/tmp"], "command_not_executable"],
    ];
    for (const [title, argv, code] of refusals) {
      test(`${title} is ${code}, and the sandbox goes on`, async () => {
        await contract.sandbox({}, async (sandbox) => {
          const { exec } = await sandbox.start(argv);
          await expect(exec.opened).rejects.toMatchObject({ code });
          await expect(exec.exited).rejects.toMatchObject({ code });
          expect(await sandbox.sh("true")).toMatchObject({ code: 0 });
        });
      });
    }
  });
}
