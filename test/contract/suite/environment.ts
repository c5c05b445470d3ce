/** Where a command starts and what it is told. */
import { expect } from "vitest";
import type { Contract } from "./contract.js";

export function environmentContract(contract: Contract): void {
  contract.capability("environment", (test) => {
    test("is exactly what was asked for: nothing of the host's is inherited", async () => {
      process.env.AGENTKERNEL_CONTRACT_LEAK = "a value of the host";
      try {
        await contract.sandbox({}, async (sandbox) => {
          const env = {
            PATH: "/usr/bin:/bin",
            HOME: "/any",
            SPACE: "two words",
            LINES: "a\nb",
            EMPTY: "",
            UNICODE: "zażółć 🐢",
          };
          const { stdout } = await sandbox.run(["env", "-0"], { env });
          expect(stdout.split("\0").filter(Boolean).sort()).toEqual(
            Object.entries(env)
              .map(([name, value]) => `${name}=${value}`)
              .sort(),
          );
        });
      } finally {
        delete process.env.AGENTKERNEL_CONTRACT_LEAK;
      }
    });

    test("has the home of the sandbox's own accounts where none was asked for", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const { stdout } = await sandbox.run(["env"], { env: {} });
        expect(stdout).toMatch(/^HOME=\/\S*\n$/);
      });
    });

    test("the words of a command are passed as they are", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const words = ["", " ", "$HOME", "a b", "*", "'\"", "--", "-n", "\n", "\\", "ü"];
        const { stdout } = await sandbox.run(["printf", "%s\\0", ...words]);
        expect(stdout.split("\0").slice(0, -1)).toEqual(words);
      });
    });
  });

  contract.capability("working-directory", (test) => {
    test("is the one that was asked for", async () => {
      await contract.sandbox({}, async (sandbox) => {
        for (const cwd of ["/", "/tmp", "/usr/bin", "/workspace"]) {
          expect(await sandbox.run(["/bin/pwd", "-P"], { cwd })).toMatchObject({ stdout: `${cwd}\n` });
        }
      });
    });

    test("a command with a slash is found from it", async () => {
      await contract.sandbox({}, async (sandbox) => {
        expect(await sandbox.run(["./sh", "-c", "echo found"], { cwd: "/usr/bin" })).toMatchObject({
          stdout: "found\n",
        });
      });
    });

    for (const cwd of ["/no/such/folder", "/etc/passwd"]) {
      test(`${cwd} is refused as bad_workdir`, async () => {
        await contract.sandbox({}, async (sandbox) => {
          const { exec } = await sandbox.start(["true"], { cwd });
          await expect(exec.opened).rejects.toMatchObject({ code: "bad_workdir" });
        });
      });
    }
  });
}
