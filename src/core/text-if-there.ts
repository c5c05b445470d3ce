import { readFileSync } from "node:fs";

/** The text of a file; null where there is no such file. What is there and cannot be read is an error. */
export function textIfThere(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}
