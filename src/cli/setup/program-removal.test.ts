import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { programRemoval } from "./program-removal.js";

it("names the line of whoever installed it, as a shell reads it back", () => {
  expect(programRemoval("/usr/lib/node_modules/agentkernel/dist")).toBe("npm uninstall -g agentkernel");
  expect(programRemoval("/home/ada/my app/node_modules/agentkernel/dist")).toBe(
    "npm uninstall --prefix '/home/ada/my app' agentkernel",
  );
  expect(programRemoval("/opt/Cellar/agentkernel/1.2.3/libexec/dist")).toBe("brew uninstall agentkernel");
  expect(programRemoval("/home/ada/it's/dist")).toBe("rm -r '/home/ada/it'\\''s'");
});

it("knows the script that keeps versions side by side", () => {
  const folder = mkdtempSync(join(tmpdir(), "agentkernel removal-"));
  try {
    mkdirSync(join(folder, "versions/1.2.3/dist"), { recursive: true });
    writeFileSync(join(folder, "install.sh"), "");
    expect(programRemoval(join(folder, "versions/1.2.3/dist"))).toBe(`sh '${folder}/install.sh' --uninstall`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
