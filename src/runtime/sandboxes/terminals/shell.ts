/** Which shell a terminal gets where none is named: bash where the sandbox has it, else sh. */
import { isAgentKernelError } from "../../../core/errors.js";
import type { CommandRules } from "../../../core/policy.js";
import type { GuestFiles } from "../../../guest/index.js";

const BASH_PLACES = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];

export async function usualShell(files: Pick<GuestFiles, "stat">, { allow, deny }: CommandRules): Promise<string> {
  const mayBash = !deny.includes("bash") && (allow === null || allow.includes("bash"));
  if (!mayBash) return "sh";
  for (const place of BASH_PLACES) if (await isThere(files, place)) return place;
  return "sh";
}

async function isThere(files: Pick<GuestFiles, "stat">, path: string): Promise<boolean> {
  try {
    const { type } = await files.stat(path);
    return type === "file" || type === "symlink";
  } catch (error) {
    // What cannot be looked at cannot be run either.
    if (isAgentKernelError(error) && error.code === "file_error") return false;
    throw error;
  }
}
