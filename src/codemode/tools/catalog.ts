/** What the tools of code mode share: the servers, what may be called, and the modules that are made of them. */
import type { ToolPolicy } from "../calls/policy.js";
import type { ModuleCache } from "../modules/index.js";
import type { McpServers, Unreachable } from "../servers/index.js";

export interface CodeMode {
  readonly servers: McpServers;
  readonly policy: ToolPolicy;
  readonly modules: ModuleCache;
}

export function lackingNotes(lacking: readonly Unreachable[]): readonly string[] {
  return lacking.map(({ why }) => why);
}

/** A reader gets no more than this of anything. */
export const MOST_TEXT_CHARS = 24_000;
