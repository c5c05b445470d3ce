/** Files inside sandboxes. Every path is resolved inside, by the guest; here only bytes pass, and a record is made. */

import { type Caller, isAdmin } from "../api/auth/caller.js";
import { text } from "../api/schema/shapes.js";
import { AgentKernelError, isAgentKernelError } from "../core/errors.js";
import type { GuestFiles } from "../guest/index.js";
import { ensureRunning, type Reached, reach } from "./reach.js";
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
  const { host, signal } = call;
  return await host.places.at(host.caller, signal, async () => {
    // Whoever may only read starts nothing: the sandbox says then that it does not run.
    if (reached.kind === "named" && mayStart(host.caller)) await ensureRunning(reached.sandbox, call);
    return await inFilesOf(reached, operation, path, work);
  });
}

function mayStart(caller: Caller): boolean {
  return isAdmin(caller) || caller.scopes.includes("sandboxes");
}

async function inFilesOf<T>(
  reached: Reached,
  operation: "read" | "write",
  path: string,
  work: (files: GuestFiles) => Promise<T>,
): Promise<T> {
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

/** Memory for so much of an answer, until it was written. An answer holds what it tells more than once on its way. */
export function claimRoom({ room }: Pick<Call, "room">, bytes: number): void {
  if (room.claim(COPIES * bytes)) return;
  throw new AgentKernelError("resource_exhausted", "there is no memory for this answer beside those under way", {
    hint: "wait until earlier answers were read, or ask for fewer bytes at once",
  });
}

const COPIES = 3;
