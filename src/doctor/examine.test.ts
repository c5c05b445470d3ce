import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentKernelError } from "../core/errors.js";
import { examine } from "./index.js";
import { layerNames } from "./report.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "doctor-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** A program in the place of `ak-probe`, to see how wrong ones are met. */
async function program(script: string): Promise<string> {
  const path = join(folder, "probe");
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

const lines = layerNames.map((layer) => `echo '${JSON.stringify({ layer, ok: true, detail: "fine", ms: 1 })}'`);
const allWork = lines.join("\n");
const bootGuest = async () => ({ ms: 5 });

describe("examine", () => {
  it("asks for all layers, then boots a guest, and finds the machine fit", async () => {
    const probeBinary = await program(`test "$*" = all || exit 2\n${allWork}`);
    const report = await examine({ probeBinary, bootGuest });
    expect(report.ok).toBe(true);
    expect(report.checks.map(({ name }) => name)).toEqual([...layerNames, "guest"]);
    expect(report.checks.at(-1)).toMatchObject({ state: "works", ms: 5 });
  });

  it("keeps what was decided of a probe that ends early, and calls the rest not proven", async () => {
    const probeBinary = await program(`${lines[0]}\nprintf '{"layer":'\nexit 7`);
    const report = await examine({ probeBinary, bootGuest });
    expect(report.checks[0]).toMatchObject({ name: "userns", state: "works" });
    expect(report.checks[1]).toMatchObject({ name: "subids", state: "fails" });
    expect(report.checks[1]?.detail).toContain("status 7");
    expect(report.ok).toBe(false);
  });

  it("does not wait for a probe longer than its deadline", async () => {
    const probeBinary = await program(`${lines[0]}\nexec sleep 60`);
    const report = await examine({ probeBinary, bootGuest, probeDeadlineMs: 300 });
    expect(report.checks[0]?.state).toBe("works");
    expect(report.checks[1]?.detail).toContain("not done after 300 ms");
  });

  it("does not read without end", async () => {
    const report = await examine({ probeBinary: await program("exec yes"), bootGuest }).catch((error) => error);
    expect(report).toMatchObject({ code: "internal" });
  });

  it("says that a probe which is not there has to be built", async () => {
    const absent = examine({ probeBinary: join(folder, "absent"), bootGuest });
    await expect(absent).rejects.toMatchObject({ code: "backend_unavailable", hint: expect.stringContaining("build") });
  });

  it("reports a guest that does not boot, with the error's own hint", async () => {
    const probeBinary = await program(allWork);
    const failing = async () => {
      throw new AgentKernelError("sandbox_start_failed", "no such jail", { hint: "build the jail" });
    };
    const report = await examine({ probeBinary, bootGuest: failing });
    expect(report.checks.at(-1)).toMatchObject({ state: "fails", detail: "no such jail", nextStep: "build the jail" });
    expect(report.ok).toBe(false);
  });

  it("gives up on a guest that never answers, and tells the boot to stop", async () => {
    const probeBinary = await program(allWork);
    let stopped = false;
    const hanging = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => {
          stopped = true;
          reject(new Error("stopped"));
        });
      });
    const report = await examine({ probeBinary, bootGuest: hanging, guestDeadlineMs: 50 });
    expect(report.checks.at(-1)).toMatchObject({ state: "fails", detail: "no answer within 50 ms" });
    expect(stopped).toBe(true);
  });
});
