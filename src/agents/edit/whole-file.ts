/** Files that hold nothing but ours. One that says something else was written by somebody else, and stays. */
import { taken } from "./unreadable.js";

/** Every text of ours has it, so that an older one is known as ours too. */
export const OWN_MARK = "Installed by agentkernel";

export function ensureWhole(text: string | null, own: string, name: string): string {
  if (text === null || text === own || text.includes(OWN_MARK)) return own;
  throw taken(name, "the file is there already, and is not ours", "rename or remove it");
}

export function removeWhole(text: string, own: string): string | null {
  return text === own ? null : text;
}
