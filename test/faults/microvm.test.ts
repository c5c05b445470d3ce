/**
 * Machines that go wrong: each process of one is killed, stopped or never comes up, and so does whoever has it. The user
 * is told, the others end by themselves, and nothing is left.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { buildSync } from "esbuild";
import { afterAll, describe, expect, it } from "vitest";
import { Templates } from "../../src/backends/microvm/templates.js";
import type { Backend, BootSpec } from "../../src/core/backend.js";
import { nativeBinary } from "../../src/core/native-binary.js";
import { verifyRootImage } from "../../src/images/root-image.js";
import { machineFiles } from "../../src/runtime/machine-files.js";
import { Subject } from "../contract/suite/subject.js";
import { actors } from "../support/actors.js";
import { linuxProgramsOf } from "../support/linux-backend.js";
import {
  contractImage,
  machineEnvironment,
  machinesOf,
  missingForMachines,
  templatesFolder,
  withContractImage,
} from "../support/microvm-backend.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { awaitChild, awaitGuest, awaitJail, isGone, killNow } from "../support/process-tree.js";
import { repository } from "../support/repository.js";
import { testFolder } from "../support/test-folder.js";

const TIMEOUT_MS = 300_000;
const MACHINES_AT_ONCE = 20;
const [actor] = actors;
const missing = missingForMachines();

describe.skipIf(missing !== null || actor?.name !== "root")("a machine", { timeout: TIMEOUT_MS }, () => {
  if (actor === undefined) throw new Error("nobody runs tests");
  const { backend: own, templates } = machinesOf(actor);
  const backend = withContractImage(own);
  afterAll(() => templates.close());
  leavesNothingBehind();

  /** Supervisor, process 1 of the jail, and QEMU, as the host sees them. */
  function processes(owner = process.pid): { readonly jail: number; readonly vmm: number; readonly qemu: number } {
    const jail = awaitJail(owner);
    const vmm = awaitGuest(jail);
    return { jail, vmm, qemu: awaitChild(vmm, "qemu-system-x86") };
  }

  it.each(["qemu", "vmm", "jail"] as const)("whose %s is killed is over, and its command is told", async (which) => {
    const machine = await Subject.boot(backend);
    const command = await machine.start(["sleep", "4104"]);
    const told = command.exec.exited.then(
      () => "an end",
      (error: unknown) => String(error),
    );
    killNow(processes()[which]);
    await machine.ended.catch(() => {});
    expect(await told).not.toBe("an end");
  });

  it("that waits has started a command of nobody's, serves whoever takes it, and leaves nothing if given up", async () => {
    const built = (spec: BootSpec, signal: AbortSignal) => {
      const shape = own.shapeOf?.({ ...spec, image: contractImage() });
      if (shape === undefined || shape === null) throw new Error("machines do not wait");
      return shape.build(signal);
    };
    const patient = new AbortController().signal;
    const waiting: Backend = {
      ...backend,
      boot: async (spec, ...how) => (await built(spec, patient)).take(spec, ...how),
    };
    const machine = await Subject.boot(waiting);
    // One process was before it; the guest itself is the first.
    expect((await machine.run(["sh", "-c", "echo $$"])).stdout).toBe("4\n");
    await machine.finish();
    const abort = new AbortController();
    const impatient: Backend = {
      ...backend,
      boot: async (spec) => {
        const given = built(spec, abort.signal);
        abort.abort(new Error("given up"));
        await given;
        throw new Error("it was there in no time");
      },
    };
    await expect(Subject.boot(impatient)).rejects.toThrow("given up");
  });

  it("that stands still can be ended", async () => {
    const machine = await Subject.boot(backend);
    const { qemu } = processes();
    killNow(qemu, "SIGSTOP");
    await machine.kill();
    expect(isGone(qemu)).toBe(true);
  });

  it("whose kernel panics says so", async () => {
    const files = machineFiles({ env: machineEnvironment(), homeDir: actor.home });
    const panicking = {
      ...files,
      kernel: async () => {
        const kernel = await files.kernel();
        return { ...kernel, commandLine: `${kernel.commandLine} rdinit=/none init=/none`, digest: "panicking" };
      },
    };
    const { backend } = machinesOf(actor, { isCold: true, files: panicking });
    await expect(Subject.boot(withContractImage(backend))).rejects.toThrow(/Kernel panic|No working init/);
  });

  it("whose console is flooded is ended, and says so", async () => {
    const flooding = join(testFolder(), "console-flood");
    execFileSync("gcc", ["-O1", "-static", "-Wall", "-o", flooding, join(repository, "test/faults/console-flood.c")]);
    const programOf: typeof nativeBinary = (name) => (name === "ak-init" ? flooding : nativeBinary(name));
    const files = machineFiles({ env: machineEnvironment(), homeDir: actor.home }, programOf);
    const { backend } = machinesOf(actor, { isCold: true, files });
    await expect(Subject.boot(withContractImage(backend))).rejects.toThrow(/flooded its console/);
  });

  it("is not saved from a disk that is not what was made", async () => {
    const files = machineFiles({ env: machineEnvironment(), homeDir: actor.home });
    const spoilt = {
      ...files,
      root: async (...wanted: Parameters<typeof files.root>) => ({
        ...(await files.root(...wanted)),
        digest: "0".repeat(64),
      }),
    };
    const { backend, templates } = machinesOf(actor, { files: spoilt });
    await expect(Subject.boot(withContractImage(backend))).rejects.toMatchObject({ code: "digest_mismatch" });
    templates.close();
  });

  it("ends with its owner", async () => {
    const owner = startOwner();
    try {
      await untilUp(owner);
      const { qemu } = processes(owner.pid ?? 0);
      const ended = once(owner, "exit");
      owner.kill("SIGKILL");
      await ended;
      await expect.poll(() => isGone(qemu), { timeout: 60_000 }).toBe(true);
    } finally {
      owner.kill("SIGKILL");
    }
  });

  it("is made from the beginning where what was saved is spoilt", async () => {
    await (await Subject.boot(backend)).kill();
    const folder = join(testFolder(), "spoilt-templates");
    execFileSync("cp", ["-r", "--sparse=always", templatesFolder(), folder]);
    const kept = readdirSync(folder).map((name) => join(folder, name, "memory"));
    expect(kept).not.toEqual([]);
    for (const memory of kept) truncateSync(memory, 4096);
    const vmmBinary = join(actor.dist, "native", "ak-vmm");
    const templates = new Templates({
      programs: linuxProgramsOf(actor),
      vmmBinary,
      folder,
      verifyRoot: verifyRootImage,
    });
    const machine = await Subject.boot(
      withContractImage(machinesOf(actor, { templates: async () => templates }).backend),
    );
    expect(await machine.sh("echo up")).toMatchObject({ stdout: "up\n" });
    await machine.kill();
    templates.close();
    expect(kept.filter((memory) => statSync(memory).size > 4096)).toHaveLength(1);
  });

  it(`and ${MACHINES_AT_ONCE - 1} others at once are different, and serve whom they belong to`, async () => {
    const look = "cat /proc/sys/kernel/random/boot_id; od -An -tx1 -N16 /dev/urandom; hostname; date +%s";
    const all = await Promise.all(Array.from({ length: MACHINES_AT_ONCE }, () => Subject.boot(backend)));
    const seen = await Promise.all(all.map(async (machine) => (await machine.sh(look)).stdout.trim().split("\n")));
    await Promise.all(all.map((machine, at) => (at % 2 === 0 ? machine.kill() : machine.finish())));
    for (const line of [0, 1, 2]) {
      expect(new Set(seen.map((lines) => lines[line])).size).toBe(MACHINES_AT_ONCE);
    }
    for (const [, , , seconds] of seen) expect(Math.abs(Number(seconds) - Date.now() / 1000)).toBeLessThan(300);
  });
});

function startOwner(): ChildProcess {
  const outfile = join(testFolder(), "machine-owner.cjs");
  buildSync({
    entryPoints: [join(repository, "test/support/machine-owner.ts")],
    bundle: true,
    platform: "node",
    format: "cjs",
    define: { "import.meta.url": JSON.stringify(`file://${repository}/test/support/machine-owner.ts`) },
    outfile,
    logLevel: "error",
  });
  return spawn(process.execPath, [outfile], { stdio: ["ignore", "pipe", "inherit"] });
}

async function untilUp({ stdout }: ChildProcess): Promise<void> {
  if (stdout === null) throw new Error("the owner has no output");
  for await (const line of createInterface({ input: stdout })) if (line === "up") return;
  throw new Error("the owner ended before its machine was up");
}
