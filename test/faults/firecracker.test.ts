/** Machines of Firecracker's, as far as a double of it goes: in the real jail, to the first command of a real guest. */
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { resolve } from "../../src/policy/resolve.js";
import { TemporarySandbox, temporaryId } from "../../src/runtime/temporary-sandbox.js";
import { actors } from "../support/actors.js";
import { builtDouble, DoubleMachines, type DoubleOptions } from "../support/firecracker/double.js";
import { leavesNothingBehind } from "../support/nothing-left.js";

const [actor] = actors;
/** What a machine has that is none: the double itself can be run in it. */
const VERSION = ["/opt/firecracker", "--version"];

let double = "";
const machines: DoubleMachines[] = [];

beforeAll(async () => {
  double = await builtDouble();
}, 600_000);

afterEach(() => {
  for (const each of machines.splice(0)) each.close();
});

function opened(options: DoubleOptions): DoubleMachines {
  if (actor === undefined) throw new Error("nobody runs these tests");
  const opened = new DoubleMachines(actor, double, options);
  machines.push(opened);
  return opened;
}

async function started({ backend }: DoubleMachines): Promise<TemporarySandbox> {
  const fields = { "fs.workspace.mode": "none", "net.egress": "off" } as const;
  const { policy } = resolve({ flags: [{ origin: "test", fields }] });
  const id = temporaryId();
  const image = { kind: "layers", layers: ["/nothing"] } as const;
  return await TemporarySandbox.start(backend, { id, hostname: id, policy, image, projectDir: null, homeDir: null });
}

async function output(sandbox: TemporarySandbox, argv: readonly string[]): Promise<string> {
  const exec = await sandbox.exec({ argv, cwd: "/", env: {}, stdin: false });
  const parts: Buffer[] = [];
  exec.onOutput(1, {
    write: (chunk, done) => {
      parts.push(Buffer.from(chunk));
      done();
    },
    end: () => {},
  });
  exec.onOutput(2, { write: (_, done) => done(), end: () => {} });
  await exec.exited;
  return Buffer.concat(parts).toString();
}

describe("a machine of Firecracker's", () => {
  leavesNothingBehind();

  test("runs a command in its jail, and says that it is unverified", { timeout: 120_000 }, async () => {
    const sandbox = await started(opened({ isCold: true }));
    expect(await output(sandbox, VERSION)).toContain("Firecracker v1.");
    const layer = sandbox.layers.find(({ name }) => name === "virtual machine");
    expect(layer).toMatchObject({ state: "partial", detail: expect.stringContaining("unverified") });
    expect(sandbox.layers).toContainEqual({ name: "seccomp around the machine", state: "applied" });
    await sandbox.kill();
  });

  test("is saved once, and goes on from there each time", { timeout: 120_000 }, async () => {
    const from = opened({ isCold: false });
    for (const _ of [1, 2]) {
      const sandbox = await started(from);
      expect(await output(sandbox, VERSION)).toContain("Firecracker v1.");
      await sandbox.kill();
    }
  });

  test("that is refused something says what", { timeout: 120_000 }, async () => {
    const refusing = opened({ isCold: true, wishes: { REFUSES: "PUT /vsock" } });
    await expect(started(refusing)).rejects.toThrow("Firecracker refused PUT /vsock (400): as the test wants it");
  });

  test("that dies while it is saved leaves no template", { timeout: 120_000 }, async () => {
    const dying = opened({ isCold: false, wishes: { DIES_AT: "PUT /snapshot/create" } });
    await expect(started(dying)).rejects.toThrow("Firecracker ended at PUT /snapshot/create");
    // Nothing was kept that would be taken for a template now.
    await expect(started(dying)).rejects.toThrow("Firecracker ended at PUT /snapshot/create");
  });
});
