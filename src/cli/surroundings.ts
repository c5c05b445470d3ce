/** What a run takes from the process around it, read once and handed down as a value. */
import { homedir } from "node:os";

export interface Surroundings {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
}

export function readSurroundings(): Surroundings {
  return { cwd: process.cwd(), env: process.env, homeDir: homedir() };
}
