/** What programs read of their limits, as JVMs, Node and Go do, is the sandbox's and not the machine's. */
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { runCli } from "../support/run-cli.js";

const MIB = 2 ** 20;
const memory = "cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes";
const pids = "cat /sys/fs/cgroup/pids.max 2>/dev/null || cat /sys/fs/cgroup/pids/pids.max";

describe.each(actors)("as $name", (actor) => {
  const hasGroup = actor.name === "root";

  it.runIf(hasGroup)("the sandbox's own cgroup is at /sys/fs/cgroup, read-only", async () => {
    const widen = "for file in $(find /sys -type f); do echo 1 2>/dev/null >$file && echo wrote $file; done";
    const nested = "mkdir /sys/fs/cgroup/x /sys/fs/cgroup/memory/x 2>/dev/null && echo made";
    const ran = await runCli(
      actor,
      ["run", "--memory", "300m", "--pids", "77", "sh", "-c", `${memory}; ${pids}; ${widen}; ${nested}; true`],
      { cwd: actor.folder() },
    );
    expect(ran).toMatchObject({ status: 0, stdout: `${300 * MIB}\n77\n` });
  });

  it.runIf(hasGroup && existsSync("/usr/bin/java"))("a JVM chooses its heap by it", async () => {
    const words = ["java", "-XX:MaxRAMPercentage=50", "-XX:+PrintFlagsFinal", "-version"];
    const ran = await runCli(actor, ["run", "--memory", "1g", ...words], { cwd: actor.folder() });
    expect(ran.status).toBe(0);
    expect(Number(/ MaxHeapSize += (\d+)/.exec(ran.stdout)?.[1])).toBe(512 * MIB);
  });

  it.runIf(existsSync("/usr/bin/lscpu"))("lscpu works", async () => {
    const ran = await runCli(actor, ["run", "lscpu"], { cwd: actor.folder() });
    expect(ran.stdout).toMatch(/^CPU\(s\):\s+\d+$/m);
    expect(ran.status).toBe(0);
  });

  it.runIf(!hasGroup)("without a cgroup of its own there is none to see", async () => {
    const ran = await runCli(actor, ["run", "sh", "-c", "ls /sys /sys/fs/cgroup"], { cwd: actor.folder() });
    expect(ran).toMatchObject({ status: 0, stdout: "/sys:\ndevices\nfs\n\n/sys/fs/cgroup:\n" });
  });
});
