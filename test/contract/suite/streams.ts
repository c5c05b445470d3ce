/** stdout and stderr: apart, complete, and there while the command runs. */
import { createHash } from "node:crypto";
import { expect } from "vitest";
import type { Contract } from "./contract.js";

export function streamsContract(contract: Contract): void {
  contract.capability("streams", (test) => {
    test("stdout and stderr are kept apart", async () => {
      await contract.sandbox({}, async (sandbox) => {
        expect(await sandbox.sh("echo out; echo err >&2")).toMatchObject({ stdout: "out\n", stderr: "err\n" });
      });
    });

    test("output arrives while the command still runs", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const command = await sandbox.start(["sh", "-c", "echo first; read answer; echo second $answer"], {
          stdin: true,
        });
        await command.until(/first\n/);
        // The command cannot end before it is answered, and it is answered only after its first line was seen.
        command.type("yes\n");
        expect(await command.ran()).toMatchObject({ code: 0, stdout: "first\nsecond yes\n" });
      });
    });

    test("every byte value arrives as it was written", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const octal = Array.from({ length: 256 }, (_, byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
        const { bytes } = await sandbox.sh(`printf '${octal}'`);
        expect(bytes).toEqual(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)));
      });
    });

    test("a great deal of output is complete and in order on both streams", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const lines = 200_000;
        const ran = await sandbox.sh(`seq ${lines}; seq ${lines} >&2`);
        const expected = Array.from({ length: lines }, (_, at) => `${at + 1}\n`).join("");
        const digest = (text: string) => createHash("sha256").update(text).digest("hex");
        expect([ran.stdout, ran.stderr].map(digest)).toEqual([expected, expected].map(digest));
      });
    });

    test("a reader that takes nothing holds the command back, and not the sandbox", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const flood = await sandbox.session.exec({
          argv: ["sh", "-c", "yes"],
          cwd: "/",
          env: { PATH: "/usr/bin:/bin" },
          stdin: false,
        });
        flood.exited.catch(() => {});
        await flood.opened;
        expect(await sandbox.sh("echo still here")).toMatchObject({ stdout: "still here\n" });
      });
    });

    test("a background process that keeps stdout open does not hold up the end", async () => {
      await contract.sandbox({}, async (sandbox) => {
        expect(await sandbox.sh("sleep 1000 & echo done")).toMatchObject({ code: 0, stdout: "done\n" });
      });
    });
  });
}
