/**
 * Which directories of a home are toolchains, and what of one is shown. Package managers keep tokens beside the programs
 * that they install (`.cargo/credentials.toml`, `etc/npmrc`, `pip.conf`, `.condarc`), so a rule names what is shown and
 * never a whole installation.
 */
import { join } from "node:path";
import type { Looks } from "../looks.js";

/** What an installation of programs consists of. Not `etc`, and nothing with a dot in front: settings lie there. */
const PARTS: ReadonlySet<string> = new Set([
  "bin",
  "sbin",
  "condabin",
  "lib",
  "lib32",
  "lib64",
  "libexec",
  "include",
  "share",
  "man",
  "src",
  "pkg",
  "jmods",
  "jre",
  "legal",
  "nvvm",
  "targets",
  "extras",
  "packages",
  "boot",
  "VERSION",
  "go.env",
  "release",
]);

/** Homebrew keeps the programs in `Cellar`, and links to them in `bin` and `opt`. */
const HOMEBREW_PARTS = ["bin", "sbin", "lib", "libexec", "include", "share", "opt", "Cellar", "etc/ca-certificates"];

/** The programs of `.cargo/bin` choose a toolchain, and make the other directories where they are not there. */
const RUSTUP_PARTS = ["toolchains", "settings.toml", "update-hashes", "tmp"];

const NAME = "[^/]+";
/** What a version manager of one language calls its directory. */
const MANAGERS = "\\.(?:pyenv|rbenv|nodenv|goenv|plenv)";

interface Rule {
  /** From the home to the directory on PATH. */
  readonly pattern: RegExp;
  /** What is shown for it. `home` is where the path starts. */
  readonly shows: (found: readonly string[], home: string, looks: Looks) => readonly string[];
}

function rule(pattern: string, shows: Rule["shows"]): Rule {
  return { pattern: new RegExp(`^${pattern}$`), shows };
}

const itself: Rule["shows"] = ([path = ""], home) => [join(home, path)];
/** The first group is an installation. */
const installation: Rule["shows"] = ([, prefix = ""], home, looks) => partsOf(join(home, prefix), looks);

const rules: readonly Rule[] = [
  rule("\\.cargo/bin", (_, home) => [
    join(home, ".cargo/bin"),
    ...RUSTUP_PARTS.map((part) => join(home, ".rustup", part)),
  ]),
  rule(`(\\.rustup/toolchains/${NAME})/bin`, installation),
  rule(`((?:\\.config/|\\.)nvm/versions/(?:node|io\\.js)/${NAME})/bin`, installation),
  rule(`((?:\\.local/share/|\\.)fnm/node-versions/${NAME}/installation)/bin`, installation),
  rule(`((?:\\.local/share/mise|\\.asdf)/installs/${NAME}/${NAME}(?:/${NAME})*)/s?bin`, installation),
  rule(`(?:\\.local/share/mise|\\.asdf)/installs/${NAME}/${NAME}`, itself),
  rule(`(${MANAGERS}/versions/${NAME})/bin`, installation),
  rule(`(${MANAGERS}/versions/${NAME})(/envs/${NAME})/bin`, ([, base = "", environment = ""], home, looks) => [
    ...partsOf(join(home, base), looks),
    ...partsOf(join(home, base, environment), looks),
  ]),
  rule(`(\\.sdkman/candidates/${NAME}/${NAME})/bin`, installation),
  rule(`(\\.local/share/uv/python/${NAME})/bin`, installation),
  rule(`((?:(?:mini|ana)conda3|miniforge3|mambaforge|micromamba)(?:/envs/${NAME})?)/(?:bin|condabin)`, installation),
  rule(`(\\.opam/${NAME})/bin`, installation),
  rule(`(sdk/go${NAME})/bin`, installation),
  rule("(?:go|\\.bun|\\.deno)/bin", itself),
  rule(`(\\.linuxbrew)/(?:s?bin|opt/${NAME}/(?:libexec/)?s?bin)`, ([, prefix = ""], home) =>
    HOMEBREW_PARTS.map((part) => join(home, prefix, part)),
  ),
];

/** What is shown for a directory on PATH; null where it belongs to no known toolchain. Both paths free of symlinks. */
export function toolchainAt(path: string, home: string, looks: Looks): readonly string[] | null {
  if (!path.startsWith(`${home}/`)) return null;
  const inHome = path.slice(home.length + 1);
  for (const { pattern, shows } of rules) {
    const found = pattern.exec(inHome);
    if (found !== null) return shows(found, home, looks);
  }
  return null;
}

/** The parts of an installation that are shown. */
export function partsOf(prefix: string, looks: Looks): readonly string[] {
  const parts = looks.names(prefix).filter((name) => PARTS.has(name));
  // Java looks for its security settings there; in other installations it is where settings with passwords lie.
  const isJava = parts.includes("release") && looks.stats(join(prefix, "lib/modules")) !== null;
  return [...parts, ...(isJava ? ["conf"] : [])].map((part) => join(prefix, part));
}
