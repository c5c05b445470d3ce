import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { lastingPath } from "./lasting-path.js";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "agentkernel-lasting-")));
const base = join(folder, "lib/agentkernel");
for (const version of ["1.0.0", "1.1.0"]) {
  mkdirSync(join(base, "versions", version, "dist"), { recursive: true });
  writeFileSync(join(base, "versions", version, "dist/agentkernel.js"), "");
}
symlinkSync("versions/1.1.0", join(base, "current"));
afterAll(() => rmSync(folder, { recursive: true }));

it("leads through the link that upgrades switch, for the version that it leads to", () => {
  expect(lastingPath(join(base, "versions/1.1.0/dist/agentkernel.js"))).toBe(join(base, "current/dist/agentkernel.js"));
  const other = join(base, "versions/1.0.0/dist/agentkernel.js");
  expect(lastingPath(other)).toBe(other);
});

it("is the path itself wherever versions do not lie side by side", () => {
  expect(lastingPath("/usr/lib/node_modules/agentkernel/dist/agentkernel.js")).toBe(
    "/usr/lib/node_modules/agentkernel/dist/agentkernel.js",
  );
});
