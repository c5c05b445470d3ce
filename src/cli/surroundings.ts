/** What a run takes from the process around it, read once and handed down as a value. */
import { homedir } from "node:os";
import { AgentKernelError } from "../core/errors.js";

export interface Surroundings {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
}

export function readSurroundings(): Surroundings {
  return { cwd: currentFolder(), env: process.env, homeDir: homedir() };
}

function currentFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new AgentKernelError("invalid_argument", "the current folder does not exist any more", {
      hint: "change to a folder that exists: it is the project that the sandbox shows",
      cause,
    });
  }
}
