import { expect, test } from "vitest";
import { auditFolder, imageStoreFolder, journalFolder } from "./state-folders.js";

test("folders are the user's own, and moved by the variables for them", () => {
  expect(auditFolder({}, "/home/u")).toBe("/home/u/.local/state/agentkernel/audit");
  expect(journalFolder({ XDG_STATE_HOME: "/state" }, "/home/u")).toBe("/state/agentkernel/journal");
  expect(imageStoreFolder({}, "/home/u")).toBe("/home/u/.local/share/agentkernel/images");
  expect(imageStoreFolder({ XDG_DATA_HOME: "/data" }, "/home/u")).toBe("/data/agentkernel/images");
});

test("a variable that is not absolute is ignored", () => {
  expect(imageStoreFolder({ XDG_DATA_HOME: "data" }, "/home/u")).toBe("/home/u/.local/share/agentkernel/images");
  expect(auditFolder({ XDG_STATE_HOME: "state" }, "/home/u")).toBe("/home/u/.local/state/agentkernel/audit");
});
