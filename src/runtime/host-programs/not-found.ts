/** Why a sandbox lacks a command that the host may well have, and what to do about it. */
import { accessSync, constants, readlinkSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { Looks } from "../looks.js";
import type { SearchedPrograms } from "../root-image.js";
import { isWithin } from "./places.js";

interface Missed {
  /** As it was asked for. */
  readonly command: string;
  /** Inside. */
  readonly cwd: string;
  readonly path: string | undefined;
  /** The name of the image. */
  readonly image: string;
  readonly programs: SearchedPrograms | undefined;
  readonly projectDir: string | null;
}

const PROJECT = "/workspace";
/** Room for the first line of a script. */
const FIRST_LINE_BYTES = 256;
const MOST_LINKS = 20;
const LISTED = 5;

/** A hint for people; null where there is nothing to say beyond the usual. */
export function whyNotFound(missed: Missed): string | null {
  return missed.command.includes("/") ? whyNoFile(missed) : whyNoProgram(missed);
}

/** What a run whose shell did not find a command should be told: what of PATH the sandbox does not have. */
export function leftOutRemark({ leftOut }: SearchedPrograms): string | null {
  return leftOut.length === 0 ? null : `the sandbox does not have all of your PATH: ${listOf(leftOut)}`;
}

function whyNoProgram({ command, path, programs }: Missed): string | null {
  if (programs === undefined) return null;
  const { leftOut } = programs;
  const there = leftOut.find(({ directory }) => isAbsolute(directory) && isProgram(join(directory, command)));
  if (there !== undefined) {
    const { directory, why } = there;
    return `this machine has it in ${directory}, which the sandbox does not have: ${why}; ${mountOf(directory)} shows that directory`;
  }
  const rest = leftOut.length === 0 ? "" : `; not in the sandbox: ${listOf(leftOut)}`;
  return `PATH in the sandbox is ${path}${rest}`;
}

function listOf(leftOut: SearchedPrograms["leftOut"]): string {
  const listed = leftOut.slice(0, LISTED).map(({ directory, why }) => `${directory} (${why})`);
  const more = leftOut.length - listed.length;
  return [...listed, ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

function mountOf(directory: string): string {
  return `--mount ${directory}:${directory}:ro`;
}

function isProgram(path: string): boolean {
  if (new Looks().stats(path)?.isFile() !== true) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not to be executed by this user.
    return false;
  }
}

/** A file of the project that the host can execute: what it needs is not in the sandbox. */
function whyNoFile({ command, cwd, image, projectDir }: Missed): string | null {
  if (projectDir === null) return null;
  const inside = resolve(cwd, command);
  const path = isWithin(inside, PROJECT) ? join(projectDir, inside.slice(PROJECT.length)) : inside;
  if (!isWithin(path, projectDir)) return null;
  const needed = linkTarget(path, projectDir) ?? interpreterOf(path);
  if (needed === null) return null;
  const { what, target } = needed;
  const other = image === "host" ? `${mountOf(dirname(target))} shows its directory` : "use the image host";
  return `${command} ${what} ${target}, which the sandbox does not have; make it anew in a sandbox, or ${other}`;
}

interface Needed {
  readonly what: string;
  readonly target: string;
}

/** Where symlinks lead out of the project: the first step. */
function linkTarget(path: string, projectDir: string): Needed | null {
  let at = path;
  for (let count = 0; count < MOST_LINKS; count++) {
    if (new Looks().stats(at, "seen")?.isSymbolicLink() !== true) return null;
    at = resolve(dirname(at), readlinkSync(at));
    if (!isWithin(at, projectDir)) return { what: "is a symlink to", target: at };
  }
  return null;
}

/** The first line of a script names its interpreter. */
function interpreterOf(path: string): Needed | null {
  const text = new Looks().text(path, FIRST_LINE_BYTES);
  const target = /^#!\s*(\/[^\s\0]+)/.exec(text)?.[1];
  return target === undefined ? null : { what: "is a script for", target };
}
