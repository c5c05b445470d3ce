/** What stands for the user at a server of theirs on loopback, which writes it to a file that only the user can read. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Undefined where the base URL is not on loopback, or no server of the user's listens there. */
export function localToken(baseUrl: string, { XDG_STATE_HOME: state }: NodeJS.ProcessEnv): string | undefined {
  const { hostname, port, protocol } = new URL(baseUrl);
  if (!/^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i.test(hostname)) return undefined;
  const base = state !== undefined && isAbsolute(state) ? state : join(homedir(), ".local/state");
  const name = port !== "" ? port : protocol === "https:" ? "443" : "80";
  return textIfThere(join(base, "agentkernel", "api-tokens", name))?.trim();
}

function textIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && ["ENOENT", "EACCES"].includes(String(error.code)))
      return undefined;
    throw error;
  }
}
