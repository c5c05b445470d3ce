/** Limits: each is hit inside, and the sandbox goes on. */
import { expect } from "vitest";
import type { Contract } from "./contract.js";

const python = (program: string) => ["python3", "-c", program];

/** Takes memory in a process of its own until it is stopped. */
const eat = (mib: number) => `b = [bytearray(1 << 20) for _ in range(${mib})]; print("ate", len(b))`;

export function limitsContract(contract: Contract): void {
  contract.capability("limit-memory-of-a-process", (test) => {
    test("a process that takes more is stopped, one that takes less is not", async () => {
      await contract.sandbox({ fields: { "resources.memoryMiB": 128 } }, async (sandbox) => {
        expect(await sandbox.run(python(eat(40)))).toMatchObject({ code: 0, stdout: "ate 40\n" });
        const greedy = await sandbox.run(python(eat(400)));
        expect(greedy.code).not.toBe(0);
        expect(greedy.stdout).toBe("");
        expect(await sandbox.sh("echo goes on")).toMatchObject({ stdout: "goes on\n" });
      });
    });
  });

  contract.capability("limit-memory", (test) => {
    test("many processes together cannot take more than one could", async () => {
      await contract.sandbox({ fields: { "resources.memoryMiB": 128 } }, async (sandbox) => {
        const holders = Array.from({ length: 6 }, () =>
          sandbox.run(python(`${eat(50)}; import time; time.sleep(0.5)`)),
        );
        const ended = await Promise.allSettled(holders);
        // Where one kernel of its own has all the memory, all of it ends together; else only who took too much.
        const isShared = !contract.has("limit-memory-of-a-process");
        const killed = ended.filter((one) =>
          one.status === "fulfilled" ? one.value.signal === 9 : isShared && one.reason?.code === "sandbox_died",
        );
        if (!isShared) expect(ended.filter(({ status }) => status === "rejected")).toEqual([]);
        expect(killed.length).toBeGreaterThan(0);
        const end = await sandbox.kill();
        expect(end.oomKills).toBeGreaterThan(0);
        expect(end.memoryPeakBytes).toBeLessThanOrEqual((isShared ? 129 : 128) << 20);
      });
    });
  });

  contract.capability("limit-processes", (test) => {
    test("a fork bomb runs into the limit, and dies with the sandbox", async () => {
      await contract.sandbox({ fields: { "resources.pids": 40 } }, async (sandbox) => {
        const fork = `
import os, time
made = 0
while made < 200:
    try:
        if os.fork() == 0:
            time.sleep(1000)
        made += 1
    except OSError:
        break
print(made)
`;
        const { stdout } = await sandbox.run(python(fork));
        expect(Number(stdout)).toBeGreaterThan(5);
        expect(Number(stdout)).toBeLessThan(40);
      });
    });
  });

  contract.capability("limit-open-files", (test) => {
    test("holds for each process, and cannot be raised", async () => {
      await contract.sandbox({ fields: { "resources.openFiles": 64 } }, async (sandbox) => {
        const { stdout } = await sandbox.sh("ulimit -Hn; ulimit -Sn; ulimit -n 100 || echo no");
        expect(stdout).toBe("64\n64\nno\n");
      });
    });
  });

  contract.capability("limit-disk", (test) => {
    for (const place of ["/workspace", "/tmp", "/dev/shm", "/var/tmp"]) {
      test(`${place}: full is an error for who writes, and for nobody else`, async () => {
        const fields = { "resources.diskMiB": 24, "fs.tmpMiB": 24, "resources.memoryMiB": 256 };
        await contract.sandbox({ fields }, async (sandbox) => {
          const { code, stderr } = await sandbox.run(["dd", "if=/dev/zero", `of=${place}/big`, "bs=1M", "count=100"]);
          expect({ code, said: /No space left on device/.test(stderr) }).toEqual({ code: 1, said: true });
          expect(await sandbox.sh(`rm ${place}/big; echo small > ${place}/small`)).toMatchObject({ code: 0 });
        });
      });
    }
  });

  contract.capability("limit-cpu", (test) => {
    test("a process that spins gets no more than its share", async () => {
      const startedAt = performance.now();
      await contract.sandbox({ fields: { "resources.vcpus": 0.2 } }, async (sandbox) => {
        const spin = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass";
        expect(await sandbox.run(python(spin))).toMatchObject({ code: 0 });
        // As the host counts it: a kernel of its own may count the time in which it was held up.
        const { cpuUs } = await sandbox.kill();
        expect(cpuUs).toBeLessThan((performance.now() - startedAt) * 1000 * 0.4);
      });
    });
  });
}
