/** Where E2B's programs expect to be: a home that they name in full. */
import { isAgentKernelError } from "../../core/errors.js";
import type { Sandbox } from "../../runtime/sandboxes/index.js";

export const USER = "user";
const HOME = "/home/user";

/** The folder itself, or the working directory where the sandbox's policy lets nothing be made there. */
export async function prepareHome(sandbox: Sandbox): Promise<string> {
  try {
    await sandbox.files.mkdir(HOME, { parents: true });
    return HOME;
  } catch (error) {
    if (isAgentKernelError(error) && error.code === "file_error") return sandbox.record.workdir ?? "/workspace";
    throw error;
  }
}
