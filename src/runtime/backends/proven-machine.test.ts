/**
 * The choice of virtual machines where nobody names a backend. No machine that tests run on has a KVM that runs a guest,
 * so the proof that one did is injected here, and whether machines start on such a one is not what these tests say.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ImageSource } from "../../core/backend.js";
import { anyBackend } from "../../core/backend-request.js";
import { AgentKernelError } from "../../core/errors.js";
import type { PolicyFields } from "../../policy/fields.js";
import { resolve } from "../../policy/resolve.js";
import type { RuntimeHost } from "../open-backend.js";
import type { Candidate } from "./candidates.js";
import { forImage } from "./choice.js";
import { chooseAnother, chooseBackend, chooseForKeeping } from "./choose.js";
import { engineCandidate } from "./engine-candidate.js";
import { microvmCandidate } from "./microvm-candidate.js";
import { failing, type Proof, working } from "./proof.js";
import { recall, remember } from "./proof-cache.js";
import { provenMachine } from "./proven-machine.js";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
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
  const candidateProving = (proof: () => Proof | Promise<Proof>): Candidate & { readonly times: () => number } => {
    let times = 0;
    return {
      lacks: [],
      identity: () => "changed",
      prove: async () => {
        times++;
        return await proof();
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

  describe.each([
    ["hardware runs none any more", () => proofBy("tcg"), /any more: booted by tcg/],
    ["nothing does", () => failing("no QEMU", null), /any more: no QEMU/],
  ])("and it is shown that %s", (_, proof, why) => {
    it("every run says so, and does not look again for a while", async () => {
      remember(host, "microvm", "before", proofBy("kvm"));
      const candidate = candidateProving(proof);
      for (let at = 0; at < 2; at++) {
        const machine = await provenMachine(host, candidate, null);
        expect(machine).toMatchObject({ backend: null, isNews: true, why: expect.stringMatching(why) });
      }
      expect(candidate.times()).toBe(1);
    });

    it("a run looks again after a while", async () => {
      remember(host, "microvm", "before", proofBy("kvm"));
      remember(host, "microvm", "changed", proof(), Date.now() - 6 * MINUTE_MS);
      const candidate = candidateProving(() => proofBy("kvm"));
      expect(await provenMachine(host, candidate, null)).toMatchObject({ backend: { name: "microvm" } });
    });
  });

  it("a run that could not find out says so, and the next one looks again", async () => {
    remember(host, "microvm", "before", proofBy("kvm"));
    const short = candidateProving(() => Promise.reject(new Error("no descriptors left")));
    expect(await provenMachine(host, short, null)).toMatchObject({
      backend: null,
      isNews: true,
      why: expect.stringMatching(/could not be told.*no descriptors left/),
    });
    const candidate = candidateProving(() => proofBy("kvm"));
    expect(await provenMachine(host, candidate, null)).toMatchObject({ backend: { name: "microvm" } });
  });

  it("a run that had no time for it says so, and the next one looks again", async () => {
    remember(host, "microvm", "before", proofBy("kvm"));
    const timeUp = vi.spyOn(AbortSignal, "timeout").mockReturnValue(AbortSignal.abort());
    const slow = candidateProving(() => Promise.reject(new Error("called off")));
    const machine = await provenMachine(host, slow, null);
    timeUp.mockRestore();
    expect(machine).toMatchObject({ backend: null, isNews: true, why: expect.stringMatching(/not be told.*20 s/) });
    const candidate = candidateProving(() => proofBy("kvm"));
    expect(await provenMachine(host, candidate, null)).toMatchObject({ backend: { name: "microvm" } });
  });
});

describe.runIf(process.platform === "linux" && process.arch === "x64")("where machines ran by hardware", () => {
  const under = (variables: Record<string, string>): RuntimeHost => ({ ...host, env: { ...host.env, ...variables } });

  it("a failure that was shown is told by every run while it counts", async () => {
    inject(proofBy("kvm"));
    inject(failing("no KVM", null));
    for (let at = 0; at < 2; at++) {
      expect(await chooseBackend(host, wanted())).toMatchObject({
        backend: { name: "linux" },
        notes: [expect.stringMatching(/^not in a virtual machine: .* any more: no KVM/)],
      });
    }
  });

  it.each([
    ["a monitor that nobody knows", { AGENTKERNEL_VMM: "firecraker" }, /AGENTKERNEL_VMM must be/],
    ["a kernel that is not there", { AGENTKERNEL_KERNEL: "/missing" }, /\/missing/],
  ])("a run that names %s says why it is in none, and the next ordinary one is in a machine", async (_, odd, why) => {
    inject(proofBy("kvm"));
    const choice = await chooseBackend(under(odd), wanted());
    expect(choice).toMatchObject({ backend: { name: "linux" }, notes: [expect.stringMatching(why)] });
    expect(await chooseBackend(host, wanted())).toMatchObject({ backend: { name: "microvm" }, notes: [] });
  });

  it.each([
    ["ran one", () => proofBy("kvm", "firecracker"), /only for those who name/],
    ["ran none", () => failing("no KVM for it", null), /no KVM for it/],
  ])("another monitor that was named once and %s changes nothing for ordinary runs", async (_, proof, why) => {
    inject(proofBy("kvm"));
    const monitor = join(folder, "bin", "firecracker");
    writeFileSync(monitor, "#!/bin/false\n");
    chmodSync(monitor, 0o755);
    const odd = under({ AGENTKERNEL_VMM: "firecracker" });
    remember(odd, "microvm", microvmCandidate.identity(odd) ?? "none", proof());
    const choice = await chooseBackend(odd, wanted());
    expect(choice).toMatchObject({ backend: { name: "linux" }, notes: [expect.stringMatching(why)] });
    expect(await chooseBackend(host, wanted())).toMatchObject({ backend: { name: "microvm" }, notes: [] });
  });

  it("an engine is the last resort after linux, which is remembered as not working", async () => {
    inject(proofBy("kvm"));
    const socket = join(folder, "podman.sock");
    writeFileSync(socket, "");
    const engines = under({ CONTAINER_HOST: `unix://${socket}` });
    const identity = engineCandidate("podman").identity(engines);
    remember(engines, "podman", identity ?? "none", working("booted", { socket }));
    const forbidden = new AgentKernelError("backend_unavailable", "no namespaces here");
    const machine = await chooseBackend(engines, wanted());
    const linux = await chooseAnother(engines, anyBackend, machine, forbidden);
    expect([machine.backend.name, linux?.backend.name]).toEqual(["microvm", "linux"]);
    const podman = linux && (await chooseAnother(engines, anyBackend, linux, forbidden));
    expect(podman).toMatchObject({ backend: { name: "podman" }, notes: linux?.notes });
    expect(recall(engines, "linux", "")).toMatchObject({ works: false, detail: "no namespaces here" });
    expect(podman && (await chooseAnother(engines, anyBackend, podman, forbidden))).toBeNull();
  });
});
