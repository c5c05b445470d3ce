/**
 * Who the user is, for git inside: the name and the e-mail address of the user's own configuration, and nothing else of
 * it. The project's own configuration counts before it, as everywhere: git reads that by itself.
 */
import { dirname, isAbsolute, join } from "node:path";
import { gitPaths } from "../core/backend.js";
import { Looks } from "./looks.js";

type Environment = Readonly<Record<string, string | undefined>>;

export interface GitIdentity {
  readonly name: string | null;
  readonly email: string | null;
}

interface Known {
  readonly looks: Looks;
  readonly identity: GitIdentity | null;
}

/** Caches identities by folder for callers whose environment is the same value. */
const known = new WeakMap<Environment, Map<string | null, Known>>();

/** Reads the user's git files, as for a repository in this folder. Null where neither is known. */
export function gitIdentity(env: Environment, folder: string | null): GitIdentity | null {
  const before = known.get(env)?.get(folder);
  if (before?.looks.isCurrent()) return before.identity;
  const looks = new Looks();
  const identity = identityIn(env, folder, looks);
  // Only what cannot change any more is what it was.
  if (Object.isFrozen(env)) known.set(env, (known.get(env) ?? new Map()).set(folder, { looks, identity }));
  return identity;
}

function identityIn(env: Environment, folder: string | null, looks: Looks): GitIdentity | null {
  const home = env.HOME;
  if (home === undefined || !isAbsolute(home)) return null;
  const configHome = env.XDG_CONFIG_HOME ?? "";
  const own = join(isAbsolute(configHome) ? configHome : join(home, ".config"), "git", "config");
  const found = [own, join(home, ".gitconfig")].reduce(
    (before: GitIdentity, file) => read(file, { home, folder, depth: 0, looks }, before),
    { name: null, email: null },
  );
  return found.name === null && found.email === null ? null : found;
}

/** It takes the place of the system's configuration, and so has that in it. */
export function configText({ name, email }: GitIdentity, passesOver: boolean): string {
  const user = [
    ...(name === null ? [] : [`\tname = ${quoted(name)}`]),
    ...(email === null ? [] : [`\temail = ${quoted(email)}`]),
  ];
  return [
    "[include]",
    "\tpath = /etc/gitconfig",
    ...(user.length === 0 ? [] : ["[user]", ...user]),
    ...(passesOver ? ["[core]", `\texcludesFile = ${gitPaths.ignored}`] : []),
    "",
  ].join("\n");
}

function quoted(value: string): string {
  return `"${value.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n").replace(/\t/g, "\\t")}"`;
}

interface ReadState {
  readonly home: string;
  readonly folder: string | null;
  /** Files that include files. */
  readonly depth: number;
  readonly looks: Looks;
}

const DEEPEST = 5;
const MOST_BYTES = 1 << 18;
const SECTION = /^\s*\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]/;
const SETTING = /^\s*([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)$/;

/** Later lines win, as git has it. */
function read(file: string, place: ReadState, before: GitIdentity): GitIdentity {
  const text = place.looks.text(file, MOST_BYTES);
  let found = before;
  let section = "";
  let subsection: string | null = null;
  for (const line of text.replace(/\\\r?\n/g, "").split(/\r?\n/)) {
    const head = SECTION.exec(line);
    if (head) {
      section = (head[1] ?? "").toLowerCase();
      subsection = head[2] ?? null;
    }
    const [, key = "", raw = ""] = SETTING.exec(head ? line.slice(head[0].length) : line) ?? [];
    const name = key.toLowerCase();
    const value = settingOf(raw);
    if (section === "user" && subsection === null && (name === "name" || name === "email") && value !== "") {
      found = { ...found, [name]: value };
    } else if (name === "path" && value !== "" && includes(section, subsection, place) && place.depth < DEEPEST) {
      const path = expanded(value, place.home);
      found = read(isAbsolute(path) ? path : join(dirname(file), path), { ...place, depth: place.depth + 1 }, found);
    }
  }
  return found;
}

/** Follows only conditions on the repository's place: people keep two identities by them. */
function includes(section: string, subsection: string | null, { home, folder }: ReadState): boolean {
  if (section === "include") return subsection === null;
  const [, kind = "", pattern = ""] = /^(gitdir(?:\/i)?):(.+)$/.exec(subsection ?? "") ?? [];
  if (section !== "includeif" || kind === "" || folder === null || !pattern.endsWith("/")) return false;
  const fold = (path: string) => (kind === "gitdir/i" ? path.toLowerCase() : path);
  return fold(`${folder}/`).startsWith(fold(expanded(pattern, home)));
}

function expanded(path: string, home: string): string {
  return path.startsWith("~/") ? join(home, path.slice(2)) : path;
}

/** Quotes and escapes are taken away, and a comment behind the value. */
function settingOf(raw: string): string {
  let value = "";
  let isQuoted = false;
  for (let at = 0; at < raw.length; at += 1) {
    const character = raw[at];
    if (character === '"') isQuoted = !isQuoted;
    else if (character === "\\") {
      at += 1;
      value += { n: "\n", t: "\t", b: "\b" }[raw[at] ?? ""] ?? raw[at] ?? "";
    } else if (!isQuoted && (character === "#" || character === ";")) break;
    else value += character;
  }
  return value.trim();
}
