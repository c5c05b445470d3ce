import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { launchWords, pathOutside, runningProgram } from "./launch.js";

let folder = "";
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "launch-")));
  for (const name of ["project/node_modules/.bin", "bin"]) {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, "agentkernel"), "#!/bin/sh\n");
    chmodSync(join(folder, name, "agentkernel"), 0o755);
  }
});
afterEach(() => rmSync(folder, { recursive: true }));

const at = (...folders: string[]) => ({
  cwd: join(folder, "project"),
  env: { PATH: folders.map((name) => join(folder, name)).join(":") },
  homeDir: "/home/ada",
});

test("the running program is a place on the disk, whatever PATH is", () => {
  expect(isAbsolute(runningProgram()[0])).toBe(true);
  expect(launchWords("user", at())).toEqual(runningProgram());
});

test("a user's own files name the place, a project's the name; the project's own program is neither", () => {
  const place = at("project/node_modules/.bin", "bin");
  expect(launchWords("user", place)).toEqual([join(folder, "bin/agentkernel")]);
  expect(launchWords("project", place)).toEqual(["agentkernel"]);
  expect(launchWords("project", at("project/node_modules/.bin"))).toEqual(runningProgram());
});

test("a search path loses what lies in the project, by its letters or by a link, and what depends on where one stands", () => {
  symlinkSync(join(folder, "project"), join(folder, "linked"));
  const parts = ["project/node_modules/.bin", "linked", "bin", "elsewhere/node_modules/.bin", "project/not-there"];
  const path = `${parts.map((name) => join(folder, name)).join(":")}:node_modules/.bin::.:/usr/bin`;
  expect(pathOutside(path, join(folder, "linked"))).toBe(`${join(folder, "bin")}:/usr/bin`);
});
