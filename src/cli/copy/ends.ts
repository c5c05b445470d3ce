/** The two ends that `cp` is given: `NAME:/path` in a sandbox, anything else on the host. */
import { posix, resolve } from "node:path";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";

export type NamedEnd =
  | { readonly at: "host"; readonly path: string }
  | { readonly at: "sandbox"; readonly sandbox: string; readonly path: string };

/** Where paths without a `/` in front begin. */
const INSIDE = "/workspace";

export function namedEnd(word: string, cwd: string): NamedEnd {
  if (word === "" || word.includes("\0")) throw refused(word, "names no file");
  if (word === "-") throw refused(word, "would be an archive, which cp does not read or write");
  const colon = word.indexOf(":");
  const name = word.slice(0, Math.max(0, colon));
  // A path of the host's with a colon in it is written with its folder: ./a:b.
  if (colon < 1 || name.includes("/") || name.startsWith(".")) return { at: "host", path: hostPath(word, cwd) };
  const path = word.slice(colon + 1);
  if (path === "") throw refused(word, "names a sandbox and no path in it");
  return { at: "sandbox", sandbox: name, path: insidePath(path) };
}

/** A `/` or `/.` at its end says something, and stays. */
function hostPath(word: string, cwd: string): string {
  const path = resolve(cwd, word);
  if (/(^|\/)\.$/.test(word)) return path === "/" ? "/." : `${path}/.`;
  return word.endsWith("/") && path !== "/" ? `${path}/` : path;
}

function insidePath(word: string): string {
  const path = posix.resolve(INSIDE, word);
  if (/(^|\/)\.$/.test(word)) return path === "/" ? "/." : `${path}/.`;
  return word.endsWith("/") && path !== "/" ? `${path}/` : path;
}

function refused(word: string, why: string): AgentKernelError {
  return new AgentKernelError("invalid_argument", `"${escapeText(word)}" ${why}`, {
    hint: "write agentkernel cp SOURCE TARGET, one of them as NAME:/path in a sandbox",
  });
}
