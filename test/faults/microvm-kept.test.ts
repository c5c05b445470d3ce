/** Machines that stay and go wrong: what was on the disk is there at the next start, and nothing else is left. */
import { execFileSync } from "node:child_process";
import { afterAll, describe, expect, it } from "vitest";
import { guestOf, inStateFolder, startPersistent } from "../contract/suite/kept-subject.js";
import { bootSpec } from "../contract/suite/subject.js";
import { actors } from "../support/actors.js";
import { contractFolder, kernelFolder, machineCache } from "../support/machine-places.js";
import { machinesOf, missingForMachines, withContractImage } from "../support/microvm-backend.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { awaitChild, isGone, killNow } from "../support/process-tree.js";
import { inWorld } from "../support/sandbox-world.js";

const TIMEOUT_MS = 300_000;
const [actor] = actors;
const missing = missingForMachines();

describe.skipIf(missing !== null || actor?.name !== "root")("a machine that stays", { timeout: TIMEOUT_MS }, () => {
  if (actor === undefined) throw new Error("nobody runs tests");
  const { backend, templates } = machinesOf(actor);
  const { kept } = withContractImage(backend);
  if (kept === undefined) throw new Error("the microvm backend keeps sandboxes");
  afterAll(() => templates.close());
  leavesNothingBehind();

  it("whose QEMU is killed while it writes is told as ended, and its disk is repaired by the next start", async () => {
    const folder = actor.ownFolder("state");
    await inStateFolder(kept, folder, async () => {
      const first = await startPersistent(kept, bootSpec({}), folder);
      const writer = await first.start([
        "sh",
        "-c",
        "mkdir /data; echo there > /data/synced; sync; i=0; while :; do i=$((i+1)); echo $i > /data/$i; echo x; done",
      ]);
      await writer.until(/(x\n){50}/);
      const qemu = awaitChild(guestOf(folder), "qemu-system-x86");
      killNow(qemu);
      const over = await first.sandbox.over;
      expect(over).toMatchObject({ how: "ended", end: { code: 1, said: expect.stringContaining("QEMU ended") } });
      expect(isGone(qemu)).toBe(true);
      const second = await startPersistent(kept, bootSpec({}), folder);
      expect(await second.sh("cat /data/synced; echo more > /data/more && cat /data/more")).toMatchObject({
        stdout: "there\nmore\n",
        stderr: "",
      });
      const { carried, ...end } = await second.sandbox.stop(10_000);
      expect([carried, end.code]).toEqual([null, 0]);
    });
  });

  it("whose QEMU stands still can be killed, and another cannot be started beside it", async () => {
    const folder = actor.ownFolder("state");
    await inStateFolder(kept, folder, async () => {
      const owned = await startPersistent(kept, bootSpec({}), folder);
      const qemu = awaitChild(guestOf(folder), "qemu-system-x86");
      killNow(qemu, "SIGSTOP");
      await expect(kept.start(bootSpec({}), folder)).rejects.toMatchObject({ code: "conflict" });
      await owned.sandbox.kill();
      expect(isGone(qemu)).toBe(true);
    });
  });

  it("is taken over by the next daemon with what runs in it, and a fork has what it had", async () => {
    const env = { AGENTKERNEL_KERNEL: kernelFolder, XDG_CACHE_HOME: machineCache };
    const image = ["--backend", "microvm", "--image", `rootfs:${contractFolder()}`];
    await inWorld(
      actor,
      async (world) => {
        await world.started("box", image);
        await world.ok(["exec", "--detach", "box", "sh", "-c", "echo begun > /begun; exec sleep 4203"]);
        await expect.poll(async () => (await world.ak(["exec", "box", "cat", "/begun"])).stdout).toBe("begun\n");
        const guest = world.guest("box");
        await world.restart();
        expect(await world.states()).toEqual({ box: "running" });
        expect((await world.info("box")).running_execs).toBe(1);
        expect(world.guest("box")).toBe(guest);
        await world.ok(["fork", "box", "other"]);
        expect(await world.ok(["exec", "other", "sh", "-c", "cat /begun; hostname"])).toBe("begun\nother\n");
        // Nobody gave up on one that was stopped.
        await world.ok(["stop", "box"]);
        expect(await world.ok(["info", "box"])).toMatch(/^State +stopped \S+ ago$/m);
      },
      { env },
    );
  });

  it("has no more room than its disk, and goes on when that is full", async () => {
    const folder = actor.ownFolder("state");
    await inStateFolder(kept, folder, async () => {
      const spec = bootSpec({ fields: { "resources.diskMiB": 64 } });
      const owned = await startPersistent(kept, spec, folder);
      const filled = await owned.sh(
        "dd if=/dev/zero of=/big bs=1M count=200; rm /big; echo small > /small; cat /small",
      );
      expect(filled).toMatchObject({ stdout: "small\n", stderr: expect.stringContaining("No space left") });
      const writtenMib = () => Number.parseInt(execFileSync("du", ["-sm", folder], { encoding: "utf8" }), 10);
      expect(writtenMib()).toBeLessThanOrEqual(70);
      // What was removed is the host's again, a moment after it is settled inside.
      await owned.sh("sync");
      await expect.poll(writtenMib, { timeout: 60_000 }).toBeLessThan(24);
    });
  });
});
