import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { missingWorkerScript, type WorkerSetup, workerMade } from "./wasm-worker.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentkernel-worker-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A checkout whose set-up notes the words that it is called with. */
function checkout(status = 0): WorkerSetup {
  const script = join(folder, "setup.sh");
  const made = join(folder, "made");
  writeFileSync(script, `echo "$*" >'${made}'\nexit ${status}\n`);
  return { isThere: () => existsSync(made), script };
}

describe("the worker for WebAssembly", () => {
  it("is compiled by a checkout at the first call, and not again", async () => {
    const place = checkout();
    await workerMade(true, undefined, place);
    expect(readFileSync(join(folder, "made"), "utf8")).toBe("wasm\n");
    writeFileSync(join(folder, "made"), "kept");
    await workerMade(true, undefined, place);
    expect(readFileSync(join(folder, "made"), "utf8")).toBe("kept");
  });

  it("is not waited for where nobody sees what the set-up says: the error names the command", async () => {
    const place = checkout();
    await expect(workerMade(false, undefined, place)).rejects.toMatchObject({
      code: "backend_unavailable",
      hint: expect.stringContaining(`${place.script} wasm makes it`),
    });
    expect(place.isThere()).toBe(false);
  });

  it("says so where it cannot be compiled", async () => {
    await expect(workerMade(true, undefined, checkout(3))).rejects.toMatchObject({ code: "backend_unavailable" });
  });

  it("is a package's own part: without a script nothing is missing", () => {
    expect(missingWorkerScript({ isThere: () => false, script: join(folder, "none") })).toBeNull();
  });
});
