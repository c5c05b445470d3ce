import { describe, expect, it } from "vitest";
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
