import { expect, it } from "vitest";
import { imageStoreFolder } from "./state-folders.js";

it("images lie in the user's data folder, wherever that was moved to", () => {
  expect(imageStoreFolder({}, "/home/u")).toBe("/home/u/.local/share/agentkernel/images");
  expect(imageStoreFolder({ XDG_DATA_HOME: "/data" }, "/home/u")).toBe("/data/agentkernel/images");
  expect(imageStoreFolder({ XDG_DATA_HOME: "data" }, "/home/u")).toBe("/home/u/.local/share/agentkernel/images");
});
