/**
 * The account that this process runs as. A uid may have no passwd entry: containers are started with `--user 12345`,
 * and OpenShift gives every project a uid of its own. Node's `userInfo` and `homedir` throw there, so nothing else
 * calls them.
 */
import { userInfo } from "node:os";
import { AgentKernelError } from "./errors.js";

interface Account {
  readonly name: string;
  readonly homeDir: string;
}

export function userId(): number {
  return process.geteuid?.() ?? -1;
}

/** The passwd entry, or null where the uid has none. HOME has no say in it. */
export function account(): Account | null {
  try {
    const { username, homedir: homeDir } = userInfo();
    return { name: username, homeDir };
  } catch (error) {
    if (hasNoEntry(error)) return null;
    throw error;
  }
}

/** HOME where it is set, else the home directory of the passwd entry; null where there is neither. */
export function homeDirOrNull(env: Readonly<Record<string, string | undefined>>): string | null {
  const { HOME } = env;
  return HOME !== undefined && HOME !== "" ? HOME : (account()?.homeDir ?? null);
}

export function homeDirIn(env: Readonly<Record<string, string | undefined>>): string {
  const found = homeDirOrNull(env);
  if (found !== null) return found;
  throw new AgentKernelError(
    "invalid_argument",
    `HOME is not set, and the user id ${userId()} has no entry in the list of accounts that would name one`,
    { hint: "set HOME to a directory that this user may write to: images, the audit log and sandboxes are kept there" },
  );
}

function hasNoEntry(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_SYSTEM_ERROR";
}
