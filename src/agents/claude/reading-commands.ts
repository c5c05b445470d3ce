/**
 * Whether a script only looks at things, as far as its words tell. Such a script needs no question and loses nothing when
 * its changes are dropped. It guards nothing: whatever it does, it does to a copy.
 */
import { ANYTHING, type ReadCommand, readScript } from "./shell-reader.js";

const readers: ReadonlySet<string> = new Set([
  ...["ls", "cat", "head", "tail", "wc", "grep", "egrep", "fgrep", "rg", "pwd", "echo", "printf", "stat", "file"],
  ...["du", "df", "tree", "cut", "tr", "nl", "diff", "cmp", "comm", "which", "type", "date", "uname", "whoami", "id"],
  ...["hostname", "printenv", "true", "false", "test", "[", "basename", "dirname", "realpath", "readlink", "md5sum"],
  ...["sha1sum", "sha256sum", "strings", "od", "hexdump", "cd", "jq", "ps", "uptime", "arch", "nproc", "locale"],
]);

const gitReaders: ReadonlySet<string> = new Set([
  ...["status", "diff", "log", "show", "rev-parse", "ls-files", "ls-tree", "blame", "describe", "shortlog", "grep"],
]);

/** Of `find`: what does something to the files that were found. */
const doing = /^-(?:exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls)$/;

/** Output that goes nowhere, or to where other output goes. */
const harmlessTargets = /[0-9]?>{1,2}\s*\/dev\/null|[0-9]?>&[0-9]|&>\s*\/dev\/null/g;

export function onlyReads(script: string): boolean {
  if (writesByRedirection(script)) return false;
  const { commands, unclear } = readScript(script);
  return unclear === null && commands.length > 0 && commands.every(isReader);
}

/** Quotes are not looked into: a sign between them is taken for a redirection, too. */
export function writesByRedirection(script: string): boolean {
  return script.replace(harmlessTargets, "").includes(">");
}

export function isReader({ words }: ReadCommand): boolean {
  const [name = "", first = ""] = words;
  if (name.includes(ANYTHING)) return false;
  if (name === "git") return gitReaders.has(first) && !words.some((word) => word.startsWith("--output"));
  if (name === "find") return !words.some((word) => doing.test(word));
  return readers.has(name);
}
