/** What a command reads. */
import { createHash, randomBytes } from "node:crypto";
import { expect } from "vitest";
import type { Contract } from "./contract.js";

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

export function stdinContract(contract: Contract): void {
  contract.capability("stdin", (test) => {
    test("bytes go in as they are, and end where they end", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const sent = randomBytes(3_000_000);
        const { bytes } = await sandbox.run(["cat"], { stdin: sent });
        expect(sha256(bytes)).toBe(sha256(sent));
      });
    });

    test("none is an empty one", async () => {
      await contract.sandbox({}, async (sandbox) => {
        expect(await sandbox.run(["cat"])).toMatchObject({ code: 0, stdout: "" });
      });
    });

    test("a command that does not read it ends none the less", async () => {
      await contract.sandbox({}, async (sandbox) => {
        expect(await sandbox.sh("exit 5", { stdin: randomBytes(3_000_000) })).toMatchObject({ code: 5 });
      });
    });

    test("a reader that waits gets each line when it is written", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const command = await sandbox.start(["sh", "-c", 'while read line; do echo "got $line"; done'], {
          stdin: true,
        });
        for (const word of ["one", "two", "three"]) {
          command.type(`${word}\n`);
          await command.until(new RegExp(`got ${word}\n`));
        }
        command.exec.endStdin();
        expect(await command.ran()).toMatchObject({ code: 0 });
      });
    });
  });
}
