import { expect, it } from "vitest";
import { AgentKernelError } from "../../core/errors.js";
import { atSide } from "./side.js";

const missing = new AgentKernelError("not_found", "/x: No such file or directory (os error 2)");

it("an error about a file says at which end it is, once, and what to look at", () => {
  const said = atSide(missing, "in the sandbox");
  expect(said).toMatchObject({
    code: "not_found",
    message: "in the sandbox: /x: No such file or directory",
    hint: expect.stringContaining("/workspace"),
  });
  expect(atSide(said, "on this machine")).toBe(said);
});

it("other errors are left alone", () => {
  const others = [new Error("x"), new AgentKernelError("sandbox_died", "gone"), null];
  for (const other of others) expect(atSide(other, "on this machine")).toBe(other);
});
