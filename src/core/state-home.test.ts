import { expect, it } from "vitest";
import { auditFolder, journalFolder } from "./state-home.js";

it("state lies in the user's state folder, wherever that was moved to", () => {
  expect(auditFolder({}, "/home/u")).toBe("/home/u/.local/state/agentkernel/audit");
  expect(auditFolder({ XDG_STATE_HOME: "/state" }, "/home/u")).toBe("/state/agentkernel/audit");
  expect(journalFolder({ XDG_STATE_HOME: "relative" }, "/home/u")).toBe("/home/u/.local/state/agentkernel/journal");
});
