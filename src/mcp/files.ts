/** Files inside sandboxes. Every path is resolved inside, by the guest; here only bytes pass, and a record is made. */

import { text } from "../api/schema/shapes.js";
import { AgentKernelError, isAgentKernelError } from "../core/errors.js";
import type { GuestFiles } from "../guest/index.js";
import { ensureRunning, reach } from "./reach.js";
import type { Call } from "./tool.js";

// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is what is refused
const ABSOLUTE = /^\/[^\u0000]*$/;

/** Of a file, inside. */
export const filePath = text({
  expected: "an absolute path inside the sandbox, such as /workspace/a.txt",
  pattern: ABSOLUTE,
  maxLength: 4095,
});

/** On record before it is done, and again where it was denied inside. */
export async function withFiles<T>(
  name: string,
  operation: "read" | "write",
  path: string,
  call: Call,
  work: (files: GuestFiles) => Promise<T>,
): Promise<T> {
  if (path.split("/").includes("..")) {
    throw new AgentKernelError("invalid_argument", "path has .. in it", {
      hint: "write it out from the sandbox's root, for example /workspace/a.txt",
      details: { field: "path" },
    });
  }
  const reached = reach(name, call, operation === "read" ? ["read", "sandboxes"] : ["sandboxes"]);
  if (reached.kind === "named") await ensureRunning(reached.sandbox, call);
  const { sandbox } = reached;
  const done = reached.kind === "named" ? reached.sandbox.use() : () => {};
  try {
    const { files } = sandbox;
    await sandbox.recordFile({ operation, path, bytes: null, verdict: "allowed" });
    return await work(files);
  } catch (error) {
    if (isAgentKernelError(error) && (error.code === "policy_denied" || error.details.code === "denied")) {
      await sandbox.recordFile({ operation, path, bytes: null, verdict: "denied", reason: error.message });
    }
    throw error;
  } finally {
    done();
  }
}
