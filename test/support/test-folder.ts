/**
 * The one folder that a test project makes its files in. Workers may be ended without a chance to clean up, so the
 * process that starts them makes it and removes it.
 */
import { chmodSync, cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repository } from "./repository.js";

const VARIABLE = "AGENTKERNEL_TEST_FOLDER";

/** Vitest calls this before the first worker starts, and what it returns after the last has ended. */
export default function setUp(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "agentkernel-test-"));
  chmodSync(folder, 0o755);
  // A copy of the build that every user can read, whatever the rights on the checkout are.
  cpSync(join(repository, "dist"), join(folder, "dist"), { recursive: true });
  process.env[VARIABLE] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

export function testFolder(): string {
  const folder = process.env[VARIABLE];
  if (folder === undefined)
    throw new Error(`${VARIABLE} is not set: this test belongs to a project with a global set-up`);
  return folder;
}
