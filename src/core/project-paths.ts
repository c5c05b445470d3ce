/** The paths that `diff` and `apply` are limited to: in the project, as the host or as the sandbox names them. */
import { posix } from "node:path";
import { AgentKernelError } from "./errors.js";
import { escapeText } from "./escape.js";

const INSIDE = "/workspace";

/** Relative to the project; empty for all of it. */
export function projectPaths(words: readonly string[]): readonly string[] {
  const paths = words.map(projectPath);
  return paths.includes("") ? [] : paths;
}

function projectPath(word: string): string {
  const path = posix.normalize(
    word === INSIDE || word.startsWith(`${INSIDE}/`) ? `.${word.slice(INSIDE.length)}` : word,
  );
  const trimmed = path.replace(/\/+$/, "");
  if (word === "" || word.includes("\0")) throw refused(word, "is no path");
  if (trimmed.startsWith("/")) throw refused(word, "is not in the project");
  if (trimmed === ".." || trimmed.startsWith("../")) throw refused(word, "leads out of the project");
  return trimmed === "." ? "" : trimmed;
}

function refused(word: string, why: string): AgentKernelError {
  return new AgentKernelError("invalid_argument", `the path "${escapeText(word)}" ${why}`, {
    hint: "name files and folders from the project's own folder on, such as src/main.c, or as /workspace/src/main.c",
  });
}

/** The answer to a review: `all`, or paths of the project. */
export function agreedTo(words: readonly string[]): { readonly yesTo: readonly string[]; readonly yesToAll: boolean } {
  const yesTo = projectPaths(words.filter((word) => word !== "all"));
  // A path that is the project itself leaves none.
  return { yesTo, yesToAll: words.includes("all") || (words.length > 0 && yesTo.length === 0) };
}
