import { describe, expect, it } from "vitest";
import { diskFailure } from "../../core/disk-failure.js";
import { AgentKernelError } from "../../core/errors.js";
import { isOfTheMoment } from "./shortage.js";

const systemError = (code: string) => Object.assign(new Error(code), { code });

describe("what was short for the moment", () => {
  it.each(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM", "ENOSPC", "EDQUOT"])("is %s, also as a reason", (code) => {
    expect(isOfTheMoment(systemError(code))).toBe(true);
    const cause = systemError(code);
    expect(isOfTheMoment(new AgentKernelError("sandbox_start_failed", "it ended", { cause }))).toBe(true);
    expect(isOfTheMoment(diskFailure("no root", "/cache", cause))).toBe(true);
  });

  it("is what says so itself", () => {
    expect(isOfTheMoment(new AgentKernelError("resource_exhausted", "no more files"))).toBe(true);
  });

  it.each([systemError("ENOENT"), new AgentKernelError("backend_unavailable", "no namespaces"), "EMFILE", null])(
    "is not %s",
    (error) => expect(isOfTheMoment(error)).toBe(false),
  );
});
