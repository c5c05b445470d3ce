/** Files of a state folder that are JSON. Each is replaced as a whole. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Null where there is none. */
export function readJson(stateDir: string, name: string): unknown {
  try {
    return JSON.parse(readFileSync(join(stateDir, name), "utf8")) as unknown;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

export function writeJson(stateDir: string, name: string, value: object): void {
  const path = join(stateDir, name);
  const fresh = `${path}.new`;
  writeFileSync(fresh, JSON.stringify(value), { mode: 0o600 });
  renameSync(fresh, path);
}
