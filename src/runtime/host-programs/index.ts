/**
 * What the `host` image shows of the machine beside /usr: the programs that the caller's PATH names. Decided from the
 * caller's environment alone; nothing that a project or a model says adds to it. Never shown: homes but for known
 * toolchains in the caller's own, directories that others can write to, repositories, and what a policy shows anyway,
 * since only there secrets are searched for.
 */
import { readlinkSync } from "node:fs";
import { basename, dirname, join, normalize, resolve } from "node:path";
import type { HostProgram } from "../../core/backend.js";
import type { HideRule } from "../../core/policy.js";
import { cacheFolder, dataFolder, stateFolder } from "../../core/state-folders.js";
import { globCovers } from "../../policy/glob.js";
import { Looks } from "../looks.js";
import type { HostProgramOptions } from "./options.js";
import { concernsHome, isSystem, isTaken, isWithin, ownHomes, whyClosed, whyUntrusted } from "./places.js";
import { selectedDirectories } from "./selected-versions.js";
import { partsOf, toolchainAt } from "./toolchains.js";

interface LeftOut {
  readonly directory: string;
  readonly why: string;
}

export interface HostPrograms {
  /** In the order in which they are made. */
  readonly shown: readonly HostProgram[];
  /** What commands are searched in, in the caller's order. */
  readonly path: string;
  /** Where toolchains find their own files, since the home is another one inside. */
  readonly env: Readonly<Record<string, string>>;
  readonly leftOut: readonly LeftOut[];
}

/** The directories that every sandbox with the host image searches. */
export const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const NIX_STORE = "/nix/store";
const HOMEBREW_HOME = "/home/linuxbrew";
/** Variables that name an installation, passed on where it is shown. */
const HOMES_OF_TOOLCHAINS = ["GOROOT", "JAVA_HOME", "RUSTUP_HOME"];
/** Where a project has its Python. */
const INTERPRETERS = [".venv/bin/python", "venv/bin/python"];
const MOST_LINKS = 20;

interface Known {
  readonly options: HostProgramOptions;
  readonly looks: Looks;
  readonly programs: HostPrograms;
}

/** Of those who call again: their environment is the same value. */
const known = new WeakMap<HostProgramOptions["env"], Known>();

export function hostPrograms(options: HostProgramOptions): HostPrograms {
  const before = known.get(options.env);
  if (before !== undefined && isSame(before.options, options) && before.looks.isCurrent()) return before.programs;
  const looks = new Looks();
  const search = new Search(options, looks);
  const { PATH = "" } = options.env;
  for (const entry of new Set(PATH.split(":"))) search.add(entry);
  search.addInterpreters();
  const programs = search.result();
  // Only what cannot change any more is what it was.
  if (Object.isFrozen(options.env)) known.set(options.env, { options, looks, programs });
  return programs;
}

function isSame(one: HostProgramOptions, other: HostProgramOptions): boolean {
  if (one === other) return true;
  const isEqual = (a: readonly string[], b: readonly string[]) =>
    a.length === b.length && a.every((x, i) => x === b[i]);
  const isAtSamePlace = one.homeDir === other.homeDir && one.projectDir === other.projectDir && one.deny === other.deny;
  return isAtSamePlace && isEqual(one.views, other.views) && isEqual(one.mounted, other.mounted);
}

type Judged = { readonly shown: readonly string[] } | { readonly why: string };

class Search {
  readonly #options: HostProgramOptions;
  readonly #looks: Looks;
  readonly #homes: readonly string[];
  /** What is shown by a view, and agentkernel's own directories. */
  readonly #apart: readonly string[];
  readonly #trees = new Set<string>();
  readonly #links = new Map<string, string>();
  readonly #path = new Set<string>();
  readonly #leftOut: LeftOut[] = [];

  constructor(options: HostProgramOptions, looks: Looks) {
    this.#looks = looks;
    const { env, homeDir } = options;
    this.#options = options;
    this.#homes = ownHomes(homeDir, looks);
    const own = [stateFolder(env, homeDir), dataFolder(env, homeDir), cacheFolder(env, homeDir)];
    this.#apart = [...options.views, ...options.mounted, ...own].map((path) => looks.real(path) ?? path);
  }

  add(entry: string): void {
    if (!entry.startsWith("/")) {
      if (entry !== "") this.#leaveOut(entry, "it depends on the current directory");
      return;
    }
    const directory = normalize(entry).replace(/(.)\/+$/, "$1");
    if (isSystem(directory) || this.#isInView(directory)) {
      this.#path.add(directory);
      return;
    }
    const real = this.#looks.real(directory);
    // Nothing could be found in it on the host either.
    if (real === null || !this.#looks.isDirectory(real)) return;
    const selected = selectedDirectories(real, this.#homes, { ...this.#options, looks: this.#looks });
    if (selected === null) this.#addDirectory(directory, real);
    else this.#addSelected(directory, selected);
  }

  /** A version manager's directory of stand-ins: the versions that it would choose take its place. */
  #addSelected(directory: string, selected: readonly string[]): void {
    if (selected.length === 0) this.#leaveOut(directory, "no installed version is selected for this directory");
    for (const path of selected) {
      const real = this.#looks.real(path);
      if (real !== null) this.#addDirectory(path, real);
    }
  }

  #addDirectory(directory: string, real: string): void {
    const judged = isSystem(real) || this.#isInView(real) ? { shown: [] } : this.#judge(real);
    if ("why" in judged) {
      this.#leaveOut(directory, judged.why);
      return;
    }
    for (const tree of judged.shown.filter((path) => this.#isApart(path))) this.#trees.add(tree);
    this.#path.add(this.#linkTo(directory, real) ? directory : real);
  }

  /** By where it really is. */
  #judge(real: string): Judged {
    const glob = denying(this.#options.deny, real);
    if (glob !== null) return { why: `it is hidden from sandboxes by the rule ${glob}` };
    for (const home of [...this.#homes, HOMEBREW_HOME]) {
      const shown = isTaken(real) ? null : toolchainAt(real, home, this.#looks);
      if (shown !== null) return { shown };
    }
    if (isWithin(real, NIX_STORE)) return { shown: [NIX_STORE] };
    const hasOwnPrefix = /^s?bin$/.test(basename(real)) && dirname(dirname(real)) !== "/";
    const prefix = hasOwnPrefix ? dirname(real) : real;
    if (concernsHome(prefix, this.#homes, this.#looks)) {
      return { why: "it is in a home directory, of which only known toolchains are shown" };
    }
    const why = whyClosed(real) ?? whyUntrusted(real, this.#looks);
    if (why !== null) return { why };
    if (dirname(real) === "/") return { why: "it is a whole directory at the top of the machine" };
    if (hasOwnPrefix) return { shown: [...new Set([real, ...partsOf(prefix, this.#looks)])] };
    return /^s?bin$/.test(basename(real)) || isWithin(real, "/opt")
      ? { shown: [real] }
      : { why: "outside /opt only directories named bin or sbin are shown" };
  }

  /** A mount over what a view shows would show what is hidden there. */
  #isApart(path: string): boolean {
    return !this.#apart.some((other) => isWithin(path, other) || isWithin(other, path));
  }

  #isInView(path: string): boolean {
    return this.#options.views.some((view) => isWithin(path, view));
  }

  /** Makes the symlinks that lead from a path to where it really is; false where they cannot be made. */
  #linkTo(path: string, real: string): boolean {
    const links = new Map<string, string>();
    let at = path;
    for (let count = 0; at !== real; count++) {
      const link = firstLink(at, this.#looks);
      if (link === null || count === MOST_LINKS) return false;
      const target = resolve(dirname(link), readlinkSync(link));
      const isInTree = [...this.#trees].some((tree) => isWithin(link, tree)) || isSystem(link);
      const isOpen = this.#homes.some((home) => isWithin(link, home)) || whyClosed(link) === null;
      if (!isOpen || isTaken(link) || !this.#isApart(link)) return false;
      if (!isInTree) links.set(link, target);
      at = target + at.slice(link.length);
    }
    for (const [link, target] of links) this.#links.set(link, target);
    return true;
  }

  /** Only toolchains of a home are shown for what a project's own symlinks lead to: a sandbox may have made them. */
  addInterpreters(): void {
    const { projectDir } = this.#options;
    if (projectDir === null) return;
    for (const name of INTERPRETERS) {
      let at = join(projectDir, name);
      for (let count = 0; count < MOST_LINKS; count++) {
        const link = firstLink(at, this.#looks);
        if (link === null) break;
        at = resolve(dirname(link), readlinkSync(link)) + at.slice(link.length);
        const directory = dirname(at);
        const real = this.#isInView(directory) || isSystem(directory) ? null : this.#looks.real(directory);
        if (real === null) continue;
        if (isTaken(real)) continue;
        const shown =
          this.#homes.map((home) => toolchainAt(real, home, this.#looks)).find((found) => found !== null) ?? [];
        for (const tree of shown.filter((path) => this.#isApart(path))) this.#trees.add(tree);
        if (shown.length > 0) this.#linkTo(directory, real);
      }
    }
  }

  #leaveOut(directory: string, why: string): void {
    this.#leftOut.push({ directory, why });
  }

  result(): HostPrograms {
    const all = [...this.#trees].sort().filter((tree) => isShowable(tree, this.#looks));
    const trees = all.filter((tree) => !all.some((other) => other !== tree && isWithin(tree, other)));
    const links = [...this.#links].filter(([link]) => !trees.some((tree) => isWithin(link, tree)));
    const shown = [...trees.map((path) => ({ path })), ...links.map(([path, link]) => ({ path, link }))];
    const path = [...new Set([...this.#path, ...SYSTEM_PATH.split(":")])].join(":");
    return { shown, path, env: this.#environment(trees), leftOut: this.#leftOut };
  }

  #environment(trees: readonly string[]): Record<string, string> {
    const found: Record<string, string> = {};
    const isThere = (path: string) =>
      isSystem(path) || trees.some((tree) => isWithin(tree, path) || isWithin(path, tree));
    for (const name of HOMES_OF_TOOLCHAINS) {
      const real = this.#looks.real(this.#options.env[name] ?? "");
      if (real !== null && isThere(real)) found[name] = real;
    }
    const rustup = trees.find((tree) => tree.endsWith("/.rustup/toolchains"));
    return rustup === undefined ? found : { RUSTUP_HOME: dirname(rustup), ...found };
  }
}

const deniedBy = new WeakMap<readonly HideRule[], Map<string, string | null>>();

/** The rule that hides a path wherever it is. Policies are few and the paths the same again and again. */
function denying(rules: readonly HideRule[], path: string): string | null {
  const known = deniedBy.get(rules) ?? new Map<string, string | null>();
  deniedBy.set(rules, known);
  const before = known.get(path);
  if (before !== undefined) return before;
  const segments = path.split("/").slice(1);
  const hides = ({ glob, holds }: HideRule) =>
    holds === undefined && glob.startsWith("**/") && globCovers(glob, segments);
  const found = rules.find(hides)?.glob ?? null;
  if (Object.isFrozen(rules)) known.set(path, found);
  return found;
}

/** What is shown has to be what it is called: a symlink leads elsewhere. */
function isShowable(path: string, looks: Looks): boolean {
  const stats = looks.stats(path, "seen");
  return stats !== null && (stats.isDirectory() || stats.isFile()) && looks.real(path) === path;
}

/** The first symlink on the way to a path; null where there is none, or nothing. */
function firstLink(path: string, looks: Looks): string | null {
  const parts = path.split("/").slice(1);
  let at = "";
  for (const part of parts) {
    at = `${at}/${part}`;
    const stats = looks.stats(at, "seen");
    if (stats === null) return null;
    if (stats.isSymbolicLink()) return at;
  }
  return null;
}
