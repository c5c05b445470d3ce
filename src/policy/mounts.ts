/** Where a mount may appear in a sandbox. Whether its source may be shown at all is for the edge that can look. */
import type { Mount } from "../core/policy.js";

/** Made by the backend or by the image: a mount there would take down a wall or the system itself. */
const reservedTrees = ["/proc", "/dev", "/sys", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
const reservedExactly = ["/", "/etc", "/tmp", "/run", "/var", "/home", "/root"];

/** Why nothing can be mounted at this path, or null. */
export function whyBadGuestPath(path: string): string | null {
  if (!path.startsWith("/")) return "it is not absolute";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(path)) return "it has a control character";
  if (path.length > 1024) return "it is longer than 1024 characters";
  if (
    path !== "/" &&
    path
      .split("/")
      .slice(1)
      .some((part) => part === "" || part === "." || part === "..")
  ) {
    return "it has an empty segment, . or ..";
  }
  if (reservedExactly.includes(path)) return `${path} belongs to the sandbox itself`;
  const tree = reservedTrees.find((reserved) => path === reserved || path.startsWith(`${reserved}/`));
  return tree === undefined ? null : `${tree} belongs to the sandbox itself`;
}

/** Why the value is not a mount, or null where it is one. */
export function whyInvalidMount(value: unknown): string | null {
  if (typeof value !== "object" || value === null) return "a mount is not an object";
  const { host, guest, readonly, ...rest } = value as Readonly<Record<string, unknown>>;
  const [extra] = Object.keys(rest);
  if (extra !== undefined) return `a mount has no key "${extra}"`;
  if (typeof host !== "string" || !host.startsWith("/")) return "a mount's host path is not an absolute path";
  if (typeof guest !== "string") return "a mount's guest path is not a text";
  if (typeof readonly !== "boolean") return "a mount's readonly is neither true nor false";
  const why = whyBadGuestPath(guest);
  return why === null ? null : `nothing can be mounted at "${guest}": ${why}`;
}

/** The guest path that two of these share, or null. */
export function duplicateGuestPath(mounts: readonly Mount[]): string | null {
  const seen = new Set<string>();
  for (const { guest } of mounts) {
    if (seen.has(guest)) return guest;
    seen.add(guest);
  }
  return null;
}
