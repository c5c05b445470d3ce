/** Whose rights a command has inside. */
import { expect } from "vitest";
import type { Contract } from "./contract.js";

export function usersContract(contract: Contract): void {
  contract.capability("users", (test) => {
    test("a command runs as the user and group that it is told", async () => {
      await contract.sandbox({ fields: { "proc.user": "1000" } }, async (sandbox) => {
        const ids = async (user: string) => (await sandbox.sh("id -u; id -g; id -G", { user })).stdout;
        expect(await ids("1234")).toBe("1234\n1234\n1234\n");
        expect(await ids("1234:77")).toBe("1234\n77\n77\n");
        expect(await ids("root")).toBe("0\n0\n0\n");
      });
    });

    test("an ordinary user inside has neither root's files nor root's rights", async () => {
      await contract.sandbox({ fields: { "proc.user": "1000" } }, async (sandbox) => {
        await sandbox.sh("echo secret > /tmp/of-root; chmod 600 /tmp/of-root");
        const { code, stdout } = await sandbox.sh("cat /tmp/of-root; grep CapEff /proc/self/status", { user: "1000" });
        expect({ code, stdout }).toEqual({ code: 0, stdout: "CapEff:\t0000000000000000\n" });
      });
    });

    test("an unknown user is refused as bad_user", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const { exec } = await sandbox.start(["true"], { user: "no-such-user" });
        await expect(exec.opened).rejects.toMatchObject({ code: "bad_user" });
      });
    });
  });

  contract.capability("no-root", (test) => {
    test("nothing runs as root, no capability is held, and none can be gained", async () => {
      const fields = { "proc.noRoot": true, "proc.capabilities": "none" } as const;
      await contract.sandbox({ fields }, async (sandbox) => {
        const { stdout } = await sandbox.sh("id -u; grep -E '^(Cap|NoNewPrivs)' /proc/self/status");
        const [uid, ...facts] = stdout.trimEnd().split("\n");
        expect(uid).toBe("1000");
        const caps = ["Inh", "Prm", "Eff", "Bnd", "Amb"].map((set) => `Cap${set}:\t0000000000000000`);
        // gVisor's kernel has no line for what is always so there.
        const untold = /^$|Amb|NoNewPrivs/;
        const all = [...caps, "NoNewPrivs:\t1"];
        const hasOwnKernel = sandbox.layers.some(({ name }) => name === "gvisor");
        expect(facts).toEqual(hasOwnKernel ? all.filter((line) => facts.includes(line) || !untold.test(line)) : all);
        const uids = await sandbox.sh("cat /proc/[0-9]*/status | sed -n 's/^Uid:.//p' | tr '\\t' '\\n' | sort -u");
        expect(uids.stdout).toBe("1000\n");
      });
    });
  });
}
