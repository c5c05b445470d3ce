/** The API against its own description, by a fuzzer: no fault of the server's, and no answer that is not described. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("every answer to what a fuzzer derives from the description is as described", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["scripts/fuzz-api.mjs", "--quick"], {
    maxBuffer: 64 << 20,
  });
  expect(stdout).toMatch(/\d{3,} generated/);
}, 600_000);
