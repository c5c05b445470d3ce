import { expect, it } from "vitest";
import { waitingForDpkg } from "./run-remedy.js";

it("packages are installed when dpkg's lock is free", () => {
  const wait = "-o DPkg::Lock::Timeout=120";
  expect(waitingForDpkg("apt-get install -y uidmap")).toBe(`apt-get ${wait} install -y uidmap`);
  expect(waitingForDpkg("sudo apt-get update")).toBe(`sudo apt-get ${wait} update`);
  expect(waitingForDpkg("sysctl -w a=1")).toBe("sysctl -w a=1");
});
