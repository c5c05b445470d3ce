/**
 * Home directories are no projects that a sandbox may write to: shell start-up files, autostart entries and the settings
 * of every program lie there, and whatever is not known by name would be writable.
 */
import { readFileSync, realpathSync } from "node:fs";
import { account, homeDirOrNull } from "../core/account.js";
import { AgentKernelError } from "../core/errors.js";
import type { Phrase } from "../settings/wording.js";

const PASSWD = "/etc/passwd";
/** Accounts below it belong to services, whose homes are shared directories such as `/bin`. */
const FIRST_USER_ID = 1000;

interface WritableFolder {
  /** How the user named it, for the message. */
  readonly what: string;
  /** Absolute and free of links. */
  readonly path: string;
  readonly hint: Phrase;
}

/** Where changes are about to be applied to. */
export function refuseToApplyToHome(projectDir: string): void {
  const hint = "copy single files out with agentkernel cp; next time run in the project's own folder";
  refuseHome({ what: "the project", path: real(projectDir), hint }, ownHome());
}

/** Refuses the caller's home, whatever contains it, and the home of any other user. */
export function refuseHome({ what, path, hint }: WritableFolder, homeDir: string): void {
  const own = [...new Set([homeDir, ownHome(), account()?.homeDir ?? ""].map(real))].filter((home) => home !== "/");
  const isAbove = (home: string) => `${home}/`.startsWith(path === "/" ? "/" : `${path}/`);
  const above = own.find(isAbove);
  if (above === undefined && !otherHomes().some((home) => home === path)) return;
  const which = above === undefined || above === path ? "a home directory" : `above the home directory ${above}`;
  throw new AgentKernelError("policy_denied", `${what} (${path}) is ${which}, which no sandbox may write to`, { hint });
}

/** Of this process, which may be a daemon with another HOME than the caller's. `real` takes "" for no home. */
function ownHome(): string {
  return homeDirOrNull(process.env) ?? "";
}

function otherHomes(): readonly string[] {
  let text: string;
  try {
    text = readFileSync(PASSWD, "utf8");
  } catch {
    // Accounts are kept elsewhere; the caller's own home is known all the same.
    return [];
  }
  return text.split("\n").flatMap((line) => {
    const [, , uid, , , home] = line.split(":");
    const isUser = uid !== undefined && (uid === "0" || Number(uid) >= FIRST_USER_ID);
    return isUser && home?.startsWith("/") && home !== "/" ? [real(home)] : [];
  });
}

function real(path: string): string {
  if (!path.startsWith("/")) return "/";
  try {
    return realpathSync(path);
  } catch {
    // It does not exist, and so cannot be written to; as a name it still stands for what is above it.
    return path;
  }
}
