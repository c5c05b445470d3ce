/** Whether an agent is on this machine, in which version, and whether it has a key. Keys themselves are never read. */
import { execFile } from "node:child_process";
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { findProgram } from "../core/find-program.js";
import { readRegularFile } from "../core/regular-file.js";
import type { Surroundings } from "../core/surroundings.js";
import type { Agent } from "./agent.js";
import { fileExists } from "./files.js";

export interface AgentState {
  /** Where its program is; null: it is not installed. */
  readonly program: string | null;
  /** Null where it cannot be told. */
  readonly version: string | null;
  /** A variable's name, or `login`; null: there is none. */
  readonly key: string | null;
}

const MAX_PACKAGE_BYTES = 1 << 20;
const VERSION_TIMEOUT_MS = 5000;

export async function detect(agent: Agent, at: Surroundings): Promise<AgentState> {
  const program = findProgram(agent.program, at.env.PATH);
  const version =
    program === null ? null : (packageVersion(program, agent.packages) ?? (await askVersion(program, at)));
  return { program, version, key: keyOf(agent, at) };
}

function keyOf(agent: Agent, at: Surroundings): string | null {
  const variable = agent.keyVariables.find((name) => (at.env[name] ?? "") !== "");
  return variable ?? (agent.loginFiles(at).some(fileExists) ? "login" : null);
}

/** From the package that the program belongs to, without starting it. */
function packageVersion(program: string, packages: readonly string[]): string | null {
  for (let folder = dirname(realpathSync(program)); folder !== dirname(folder); folder = dirname(folder)) {
    const found = readPackage(join(folder, "package.json"));
    if (found !== null) return isOneOf(found.name, packages) ? found.version : null;
  }
  return null;
}

/** Builds for one kind of machine are packages beside it, `name-linux-x64`. */
function isOneOf(name: string, packages: readonly string[]): boolean {
  return packages.some((one) => name === one || name.startsWith(`${one}-`));
}

function readPackage(path: string): { readonly name: string; readonly version: string } | null {
  try {
    const value: unknown = JSON.parse(readRegularFile(path, MAX_PACKAGE_BYTES).toString("utf8"));
    const { name, version } = value as Readonly<Record<string, unknown>>;
    return typeof name === "string" && typeof version === "string" ? { name, version } : null;
  } catch {
    return null;
  }
}

async function askVersion(program: string, { env, homeDir, cwd }: Surroundings): Promise<string | null> {
  const output = await new Promise<string>((resolve) => {
    const options = { cwd, env: { PATH: env.PATH, HOME: homeDir }, timeout: VERSION_TIMEOUT_MS, maxBuffer: 1 << 16 };
    execFile(program, ["--version"], options, (error, stdout) => resolve(error === null ? stdout : ""));
  });
  return /\d+\.\d+\.\d+[\w.+-]*/.exec(output)?.[0] ?? null;
}
