import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { TemporarySandbox } from "../temporary-sandbox.js";
import { microvmCandidate } from "./microvm-candidate.js";

type Host = Parameters<typeof microvmCandidate.prove>[0];

/** As far as it is looked at before anything is started. */
const host = (env: Readonly<Record<string, string>>) => ({ env, homeDir: "/nonexistent" }) as unknown as Host;

describe.runIf(process.platform === "linux" && process.arch === "x64")("the monitor of machines", () => {
  it("must be one that is known", async () => {
    const unknown = host({ AGENTKERNEL_VMM: "bochs" });
    expect(microvmCandidate.identity(unknown)).toBeNull();
    await expect(microvmCandidate.prove(unknown)).resolves.toMatchObject({
      works: false,
      detail: "AGENTKERNEL_VMM must be qemu or firecracker",
      nextStep: "set it, or unset AGENTKERNEL_VMM",
    });
  });
});

describe.runIf(process.platform === "linux" && process.arch === "x64")("a proof of machines", () => {
  it.each([
    ["EMFILE", "rejects"],
    ["ENOSPC", "rejects"],
    ["EIO", "is a failure"],
  ])("that meets %s %s", async (code, what) => {
    const folder = mkdtempSync(join(tmpdir(), "machine-proof-"));
    const started = vi.spyOn(TemporarySandbox, "start").mockRejectedValue(Object.assign(new Error(code), { code }));
    try {
      const qemu = join(folder, "qemu-system-x86_64");
      writeFileSync(qemu, "#!/bin/false\n");
      chmodSync(qemu, 0o755);
      writeFileSync(join(folder, "kernel"), "");
      const digests = { kernelSha256: "0".repeat(64), modulesSha256: null };
      const description = { version: 1, name: "none", acpi: false, commandLine: "quiet", ...digests };
      writeFileSync(join(folder, "kernel.json"), JSON.stringify(description));
      const proof = microvmCandidate.prove(host({ PATH: folder, XDG_CACHE_HOME: folder, AGENTKERNEL_KERNEL: folder }));
      if (what === "rejects") await expect(proof).rejects.toMatchObject({ code });
      else await expect(proof).resolves.toMatchObject({ works: false, detail: expect.stringContaining(code) });
      expect(started).toHaveBeenCalled();
    } finally {
      started.mockRestore();
      rmSync(folder, { recursive: true });
    }
  });
});
