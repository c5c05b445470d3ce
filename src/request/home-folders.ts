/**
 * Home directories are no projects that a sandbox may write to: shell start-up files, autostart entries and the settings
 * of every program lie there, and whatever is not known by name would be writable.
 */
import { readFileSync, realpathSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { AgentKernelError } from "../core/errors.js";

const PASSWD = "/etc/passwd";
/** Accounts below it belong to services, whose homes are shared directories such as `/bin`. */
const FIRST_USER_ID = 1000;

export interface WritableFolder {
  /** How the user named it, for the message. */
  readonly what: string;
  /** Absolute and free of links. */
  readonly path: string;
  readonly hint: string;
}

/** Where changes are about to be applied to. */
export function refuseToApplyToHome(projectDir: string): void {
  const hint = "copy single files out with agentkernel cp; next time run in the project's own folder";
  refuseHome({ what: "the project", path: real(projectDir), hint }, homedir());
}

/** Refuses the caller's home, whatever contains it, and the home of any other user. */
export function refuseHome({ what, path, hint }: WritableFolder, homeDir: string): void {
  const own = [...new Set([homeDir, homedir(), accountHome()].map(real))].filter((home) => home !== "/");
  const isAbove = (home: string) => `${home}/`.startsWith(path === "/" ? "/" : `${path}/`);
  const above = own.find(isAbove);
  if (above === undefined && !otherHomes().some((home) => home === path)) return;
  const which = above === undefined || above === path ? "a home directory" : `above the home directory ${above}`;
  throw new AgentKernelError("policy_denied", `${what} (${path}) is ${which}, which no sandbox may write to`, { hint });
}

/** Also where HOME says something else. */
function accountHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    // The user has no entry in the list of accounts.
    return "";
  }
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
    return isUser && home !== undefined && home.startsWith("/") && home !== "/" ? [real(home)] : [];
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
