/** What the tests look for after each sandbox, for a program that is no test. */
import { bundled } from "./bundled.mjs";

/** Processes are ours by the copy of the build in this folder that they run. */
export async function leakTraces(folder) {
  process.env.AGENTKERNEL_TEST_FOLDER = folder;
  return await bundled("test/support/leaks.ts", folder);
}
