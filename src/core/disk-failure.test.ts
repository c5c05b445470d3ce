import { describe, expect, it } from "vitest";
import { diskFailure } from "./disk-failure.js";
import { AgentKernelError } from "./errors.js";

const failed = (code: string) => Object.assign(new Error("write failed"), { code });

describe("a fault of the disk under a folder", () => {
  it("says which folder, what could not be done there, and what to do", () => {
    expect(diskFailure("no machine can be saved", "/cache", failed("ENOSPC"))).toMatchObject({
      code: "resource_exhausted",
      message: "the disk of /cache is full: no machine can be saved",
      hint: expect.stringContaining("room"),
    });
    expect(diskFailure("no machine can be saved", "/cache", failed("EACCES"))).toMatchObject({
      code: "sandbox_start_failed",
      message: "no machine can be saved: /cache cannot be used (EACCES)",
      hint: expect.stringContaining("belongs to you"),
    });
  });

  it("takes nothing else for one", () => {
    const own = new AgentKernelError("digest_mismatch", "another");
    const fault = new TypeError("ours");
    expect([diskFailure("x", "/y", own), diskFailure("x", "/y", fault)]).toEqual([own, fault]);
  });
});
