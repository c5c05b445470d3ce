/** How others start agentkernel: by its name where that is in PATH, else by where it lies. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram } from "../core/find-program.js";
import type { Launch } from "./agent.js";

/** From the bundle in dist/ or dist/chunks/, and from a source file two levels below the checkout. */
const PLACES = ["../bin/agentkernel", "../../bin/agentkernel"];
const ENTRIES = ["agentkernel.js", "../agentkernel.js", "../../dist/agentkernel.js"];

export function launchWords(path: string | undefined): Launch {
  if (findProgram("agentkernel", path) !== null) return ["agentkernel"];
  const here = dirname(fileURLToPath(import.meta.url));
  const program = PLACES.map((place) => join(here, place)).find((candidate) => existsSync(candidate));
  if (program !== undefined) return [program];
  const entry = ENTRIES.map((place) => join(here, place)).find((candidate) => existsSync(candidate));
  return [process.execPath, entry ?? join(here, "agentkernel.js")];
}
