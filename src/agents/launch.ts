/**
 * How others start agentkernel. What a user's own files get, and what a routed command starts, is a place on the disk: a
 * search path may have folders of the project in front, and those a sandbox can fill. Only what many people share (a
 * project's files) has the bare name.
 */
import { existsSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram } from "../core/find-program.js";
import { lastingPath } from "../core/lasting-path.js";
import type { Surroundings } from "../core/surroundings.js";
import type { Launch, Scope } from "./agent.js";
import { isWithin, realPath } from "./real-path.js";

/** From the bundle in dist/ or dist/chunks/, and from a source file two levels below the checkout. */
const PLACES = ["../bin/agentkernel", "../../bin/agentkernel"];
const ENTRIES = ["agentkernel.js", "../agentkernel.js", "../../dist/agentkernel.js"];

/** The program that runs now, whatever PATH says. */
export function runningProgram(): Launch {
  const here = dirname(fileURLToPath(import.meta.url));
  const program = PLACES.map((place) => join(here, place)).find((candidate) => existsSync(candidate));
  if (program !== undefined) return [program];
  const entry = ENTRIES.map((place) => join(here, place)).find((candidate) => existsSync(candidate));
  return [process.execPath, lastingPath(entry ?? join(here, "agentkernel.js"))];
}

/** For the files of a scope. The place in PATH is preferred where there is one, since it outlives an update. */
export function launchWords(scope: Scope, { env, cwd }: Surroundings): Launch {
  const path = pathOutside(env.PATH, cwd);
  const found = findProgram("agentkernel", path);
  if (found === null || isWithin(realPath(found), realPath(cwd))) return runningProgram();
  return [scope === "project" ? "agentkernel" : found];
}

/** A search path without what lies in a project, or in anybody's packages. */
export function pathOutside(path: string | undefined, project: string): string {
  const root = realPath(project);
  const isOutside = (folder: string) =>
    isAbsolute(folder) &&
    !isWithin(realPath(folder), root) &&
    !isWithin(folder, project) &&
    !folder.split("/").includes("node_modules");
  return (path ?? "").split(delimiter).filter(isOutside).join(delimiter);
}
