/** Which places of the host hold no programs for sandboxes, whatever PATH says, and why. */
import type { Stats } from "node:fs";
import { dirname, join } from "node:path";
import { account, userId } from "../../core/account.js";
import type { Looks } from "../looks.js";

/** What a sandbox with the host image has anyway. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** Never shown. Homes are found beside these. */
const CLOSED: readonly (readonly [place: string, why: string])[] = [
  ...["/tmp", "/var/tmp", "/dev/shm"].map((place) => [place, "it is in a directory for temporary files"] as const),
  ...["/proc", "/sys", "/dev", "/run"].map(
    (place) => [place, "it belongs to the kernel or to running services"] as const,
  ),
  ...["/etc", "/var", "/boot", "/lost+found"].map(
    (place) => [place, "settings and data of the system lie there"] as const,
  ),
  ...["/mnt", "/media"].map((place) => [place, "other disks and machines are mounted there"] as const),
  ["/workspace", "it is the project's place in a sandbox"],
];

/** A sandbox's own, in which nothing can be made or must not be. */
const TAKEN = ["/dev", "/proc", "/sys", "/etc", "/workspace"];

/** Directories above all homes. */
const HOMES_ABOVE = ["/home", "/var/home", "/Users"];
const PASSWD = "/etc/passwd";
const MOST_ACCOUNTS_BYTES = 1 << 20;
/** Accounts below it belong to services, whose homes are shared directories such as `/bin`. */
const FIRST_USER_ID = 1000;
const OTHERS_MAY_WRITE = 0o002;
const STICKY = 0o1000;

export function isSystem(path: string): boolean {
  return SYSTEM.some((place) => isWithin(path, place));
}

export function isWithin(path: string, place: string): boolean {
  return path === place || path.startsWith(place === "/" ? "/" : `${place}/`);
}

/** The homes of the caller, free of symlinks. */
export function ownHomes(homeDir: string, looks: Looks): readonly string[] {
  const homes = [homeDir, account()?.homeDir ?? ""].map((home) => looks.real(home));
  return [...new Set(homes)].filter((home): home is string => home !== null && home !== "/");
}

/** Whether a path is in anybody's home, or a home is in it. */
export function concernsHome(path: string, own: readonly string[], looks: Looks): boolean {
  if (HOMES_ABOVE.some((place) => isWithin(path, place) || isWithin(place, path))) return true;
  return ["/root", ...own, ...otherHomes(looks)].some((home) => isWithin(path, home) || isWithin(home, path));
}

export function isTaken(path: string): boolean {
  return TAKEN.some((place) => isWithin(path, place));
}

export function whyClosed(path: string): string | null {
  return CLOSED.find(([place]) => isWithin(path, place))?.[1] ?? null;
}

/** Whoever can change a directory decides what runs in the sandbox, and what a path below it leads to. */
export function whyUntrusted(path: string, looks: Looks): string | null {
  for (let at = path; ; at = dirname(at)) {
    const stats = looks.stats(at);
    if (stats === null) return "it cannot be looked at";
    const why = whyOthers(stats, at);
    if (why !== null) return why;
    if (looks.stats(join(at, ".git")) !== null) {
      return `it is in the git repository ${at}, where nothing would be hidden`;
    }
    if (at === "/") return null;
  }
}

function whyOthers({ mode, uid }: Stats, path: string): string | null {
  if (uid !== 0 && uid !== userId()) return `${path} belongs to another user`;
  return (mode & OTHERS_MAY_WRITE) !== 0 && (mode & STICKY) === 0 ? `every user may write to ${path}` : null;
}

/** Where accounts are kept elsewhere, the caller's own home and the usual places are known all the same. */
function otherHomes(looks: Looks): readonly string[] {
  const text = looks.text(PASSWD, MOST_ACCOUNTS_BYTES);
  return text.split("\n").flatMap((line) => {
    const [, , uid, , , home] = line.split(":");
    return Number(uid) >= FIRST_USER_ID && home?.startsWith("/") && home !== "/" ? [home] : [];
  });
}
