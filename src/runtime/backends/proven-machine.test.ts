/**
 * The choice of virtual machines where nobody names a backend. No machine that tests run on has a KVM that runs a guest,
 * so the proof that one did is injected here, and whether machines start on such a one is not what these tests say.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ImageSource } from "../../core/backend.js";
import { anyBackend } from "../../core/backend-wish.js";
import { AgentKernelError } from "../../core/errors.js";
import type { PolicyFields } from "../../policy/fields.js";
import { resolve } from "../../policy/resolve.js";
import type { RuntimeHost } from "../open-backend.js";
import type { Candidate } from "./candidates.js";
import { forImage } from "./choice.js";
import { chooseAnother, chooseBackend, chooseForKeeping } from "./choose.js";
import { microvmCandidate } from "./microvm-candidate.js";
import { failing, type Proof, working } from "./proof.js";
import { lastProof, remember } from "./proof-cache.js";
import { provenMachine } from "./proven-machine.js";

const DAY_MS = 24 * 3_600_000;
const layers: ImageSource = { kind: "layers", layers: ["/nonexistent"] };

let folder: string;
let host: RuntimeHost;

/** A QEMU and a kernel as far as they are looked at before anything is started. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "proven-machine-"));
  const [bin, kernel] = [join(folder, "bin"), join(folder, "kernel")];
  for (const each of [bin, kernel]) mkdirSync(each);
  writeFileSync(join(bin, "qemu-system-x86_64"), "#!/bin/false\n");
  chmodSync(join(bin, "qemu-system-x86_64"), 0o755);
  writeFileSync(join(kernel, "kernel"), "");
  const digests = { kernelSha256: "0".repeat(64), modulesSha256: null };
  const description = { version: 1, name: "none", acpi: false, commandLine: "quiet", ...digests };
  writeFileSync(join(kernel, "kernel.json"), JSON.stringify(description));
  const env = { XDG_STATE_HOME: folder, XDG_CACHE_HOME: folder, PATH: bin, AGENTKERNEL_KERNEL: kernel };
  host = { env, homeDir: folder, resident: null };
});
afterEach(() => rmSync(folder, { recursive: true }));

const proofBy = (accelerator: "kvm" | "tcg", kind = "qemu") =>
  working(`booted by ${accelerator}`, { kind, program: join(folder, "bin", "qemu-system-x86_64"), accelerator });

function inject(proof: Proof, agoMs = 0): void {
  const identity = microvmCandidate.identity(host);
  if (identity === null) throw new Error("there is nothing to prove");
  remember(host, "microvm", identity, proof, Date.now() - agoMs);
}

const wanted = (fields: PolicyFields = {}, homeDir: string | null = null) => ({
  backend: anyBackend,
  policy: resolve({ flags: [{ origin: "the test", fields }] }).policy,
  homeDir,
});

describe.runIf(process.platform === "linux" && process.arch === "x64")("where nobody names a backend", () => {
  it("a machine is chosen where hardware ran one, however long ago, and it says why", async () => {
    inject(proofBy("kvm"), 30 * DAY_MS);
    for (const choice of [await chooseBackend(host, wanted()), await chooseForKeeping(host, anyBackend, wanted())]) {
      expect(choice).toMatchObject({ backend: { name: "microvm" }, why: "auto: booted by kvm", notes: [] });
      expect(await forImage(choice, layers)).toBe(choice);
    }
  });

  it.each([
    ["nobody has seen one run", null],
    ["one ran emulated in software only", () => proofBy("tcg")],
    ["another monitor ran it, which is only for those who name it", () => proofBy("kvm", "firecracker")],
    ["it failed", () => failing("no KVM", null)],
  ])("linux is chosen where %s, and nobody is bothered", async (_, proof) => {
    if (proof !== null) inject(proof());
    expect(await chooseBackend(host, wanted())).toMatchObject({ backend: { name: "linux" }, notes: [] });
  });

  it.each([
    ["a live project", wanted({ "fs.workspace.mode": "mount" }), /workspace mount/],
    ["the home folder", wanted({ "fs.home": "readonly" }, "/home/somebody"), /home folder/],
    ["a writable mount", wanted({ "fs.mounts": [{ host: "/srv", guest: "/srv", readonly: false }] }), /\/srv live/],
    ["less memory than a kernel needs", wanted({ "resources.memoryMiB": 64 }), /128 MiB/],
  ])("linux is chosen for %s, and that is said", async (_, asked, why) => {
    inject(proofBy("kvm"));
    const choices = [await chooseBackend(host, asked), await chooseForKeeping(host, anyBackend, asked)];
    for (const { backend, why: reason, notes } of choices) {
      expect([backend.name, notes]).toEqual(["linux", [expect.stringMatching(why)]]);
      expect(reason).toMatch(why);
    }
  });

  it("linux is chosen for the host's own programs, also where they take an image's place", async () => {
    inject(proofBy("kvm"));
    const choice = await chooseBackend(host, wanted());
    expect(await forImage(choice, { kind: "host" })).toMatchObject({
      backend: { name: "linux" },
      notes: [expect.stringContaining("image host")],
    });
  });

  it("linux takes the place of a machine whose monitor is gone, and of no other that does not come up", async () => {
    inject(proofBy("kvm"));
    const choice = await chooseBackend(host, wanted());
    const gone = new AgentKernelError("backend_unavailable", "QEMU is gone");
    expect(await chooseAnother(host, anyBackend, choice, gone)).toMatchObject({
      backend: { name: "linux" },
      notes: [expect.stringContaining("QEMU is gone")],
    });
    for (const code of ["sandbox_start_failed", "image_invalid", "digest_mismatch"] as const) {
      expect(await chooseAnother(host, anyBackend, choice, new AgentKernelError(code, "an image did it"))).toBeNull();
    }
  });
});

describe("when something has changed that a proof depends on", () => {
  const candidateProving = (proof: () => Proof): Candidate & { readonly times: () => number } => {
    let times = 0;
    return {
      lacks: [],
      identity: () => "changed",
      prove: async () => {
        times++;
        return proof();
      },
      open: () => ({
        ...({ name: "microvm", lacks: [] } as const),
        boot: () => Promise.reject(new Error("not started")),
      }),
      times: () => times,
    };
  };

  it("a run finds out again, once", async () => {
    remember(host, "microvm", "before", proofBy("kvm"));
    const candidate = candidateProving(() => proofBy("kvm"));
    for (let at = 0; at < 2; at++) {
      expect(await provenMachine(host, candidate, null)).toMatchObject({ backend: { name: "microvm" } });
    }
    expect(candidate.times()).toBe(1);
  });

  it.each([
    ["hardware runs none any more", () => proofBy("tcg")],
    ["nothing does", () => failing("no QEMU", null)],
    [
      "it cannot be told",
      () => {
        throw new Error("no descriptors left");
      },
    ],
  ])("it says so where %s, and the next run does not look again", async (_, proof) => {
    remember(host, "microvm", "before", proofBy("kvm"));
    expect(await provenMachine(host, candidateProving(proof), null)).toMatchObject({ backend: null, isNews: true });
    const last = lastProof(host, "microvm");
    expect(last?.works === true && last.facts.accelerator === "kvm").toBe(false);
    expect(await chooseBackend(host, wanted())).toMatchObject({ backend: { name: "linux" }, notes: [] });
  });
});
