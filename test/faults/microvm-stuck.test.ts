/** Machines that live and are of no use any more: one that hangs, and one that has no memory left. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { BootSpec } from "../../src/core/backend.js";
import { nativeBinary } from "../../src/core/native-binary.js";
import type { GuestExec } from "../../src/guest/index.js";
import { explainedDeath } from "../../src/runtime/death-of-sandbox.js";
import { machineFiles } from "../../src/runtime/machine-files.js";
import { RunningSandbox } from "../../src/runtime/sandboxes/running.js";
import { TemporarySandbox } from "../../src/runtime/temporary-sandbox.js";
import { inStateFolder } from "../contract/suite/kept-subject.js";
import { basicEnv, bootSpec } from "../contract/suite/subject.js";
import { type Actor, actors } from "../support/actors.js";
import { machineEnvironment, machinesOf, missingForMachines, withContractImage } from "../support/microvm-backend.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { repository } from "../support/repository.js";
import { testFolder } from "../support/test-folder.js";

const TIMEOUT_MS = 300_000;
/** Where test/faults/machine-hang.c listens. */
const HANG_PORT = 4999;
/** A machine that lives answers sooner on any machine that tests run on. */
const heartbeat = { quietMs: 1000, patienceMs: 15_000 };
const SILENT = expect.stringContaining("no sign of life");
const [actor] = actors;
const missing = missingForMachines();

const command = (...argv: readonly string[]) => ({ argv, cwd: "/", env: basicEnv, stdin: false });

async function statusOf(exec: GuestExec): Promise<number | string> {
  for (const stream of [1, 2] as const) exec.onOutput(stream, { write: (_, done) => done(), end: () => {} });
  const { code, signal } = await exec.exited;
  return code ?? `signal ${signal}`;
}

describe.skipIf(missing !== null || actor?.name !== "root")("a machine", { timeout: TIMEOUT_MS }, () => {
  if (actor === undefined) throw new Error("nobody runs tests");
  const { backend, templates } = machinesOf(actor);
  const usual = withContractImage(backend);
  afterAll(() => templates.close());
  leavesNothingBehind();

  /** One whose only processor can be taken away from everything in it. */
  function hanging(owner: Actor) {
    const program = join(testFolder(), "machine-hang");
    const source = join(repository, "test/faults/machine-hang.c");
    const real = `-DREAL_INIT="${nativeBinary("ak-init")}"`;
    execFileSync("gcc", ["-O1", "-static", "-Wall", real, "-o", program, source]);
    const programOf: typeof nativeBinary = (name) => (name === "ak-init" ? program : nativeBinary(name));
    const files = machineFiles({ env: machineEnvironment(), homeDir: owner.home }, programOf);
    return withContractImage(machinesOf(owner, { isCold: true, files, heartbeat }).backend);
  }

  it("that hangs is ended, and who waits for its command is told", async () => {
    const sandbox = await TemporarySandbox.start(hanging(actor), bootSpec({}));
    // Asked for a sign of life meanwhile, and giving it.
    expect(await statusOf(await sandbox.exec(command("sleep", "3")))).toBe(0);
    const waiting = sandbox.exec(command("sleep", "4105")).then(statusOf);
    void sandbox.connectTcp(HANG_PORT).catch(() => {});
    await expect(waiting).rejects.toMatchObject({ code: "sandbox_died", message: SILENT });
    await sandbox.ended;
  });

  it("that stays and hangs is ended, and whoever asks later hears why", async () => {
    const { kept } = hanging(actor);
    if (kept === undefined) throw new Error("the microvm backend keeps sandboxes");
    const folder = actor.ownFolder("state");
    await inStateFolder(kept, folder, async () => {
      const sandbox = await kept.start(bootSpec({}), folder);
      const running = await RunningSandbox.open({ kept: sandbox, egress: null, onConnection: () => () => {} });
      expect(await statusOf(await running.session.exec(command("sleep", "3")))).toBe(0);
      void running.session.connectTcp(HANG_PORT).catch(() => {});
      expect(await running.over).toMatchObject({ how: "ended", end: { said: SILENT } });
      expect((await kept.lastEnd(folder))?.end.said).toEqual(SILENT);
    });
  });

  const small: BootSpec = bootSpec({ fields: { "resources.memoryMiB": 128 } });
  const takeAll = "b = [bytearray(1 << 20) for _ in range(4000)]";
  /** Files in memory are nobody's, so that ending their writer gives nothing back. */
  const fillAll = `
piece = bytes(1 << 20)
for place in ("/tmp", "/dev/shm", ""):
    try:
        with open(place + "/big", "wb", 0) as file:
            while True: file.write(piece)
    except OSError: pass
${takeAll}`;

  it("whose memory is eaten, also by files, says that its limit was reached", async () => {
    const sandbox = await TemporarySandbox.start(usual, small);
    const status = await sandbox
      .exec(command("python3", "-c", fillAll))
      .then(statusOf)
      .catch((error: unknown) => ({ error }));
    const end = await sandbox.kill();
    expect(end.oomKills).toBeGreaterThan(0);
    if (typeof status !== "object") {
      expect(status).toBe("signal 9");
      return;
    }
    // All of it was ended, where the guest was what memory could be had from.
    expect(explainedDeath(status.error, end, small.policy)).toMatchObject({
      code: "sandbox_died",
      message: expect.stringContaining("memory limit of 128 MiB"),
    });
  });

  it("that stays and whose memory is eaten goes on, and tells of it at its end", async () => {
    const { kept } = usual;
    if (kept === undefined) throw new Error("the microvm backend keeps sandboxes");
    const folder = actor.ownFolder("state");
    await inStateFolder(kept, folder, async () => {
      const sandbox = await kept.start(small, folder);
      const running = await RunningSandbox.open({ kept: sandbox, egress: null, onConnection: () => () => {} });
      expect(await statusOf(await running.session.exec(command("python3", "-c", takeAll)))).toBe("signal 9");
      expect(await statusOf(await running.session.exec(command("true")))).toBe(0);
      await sandbox.stop(10_000);
      expect((await kept.lastEnd(folder))?.end.oomKills).toBeGreaterThan(0);
    });
  });
});
