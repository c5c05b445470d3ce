/** What the tools of code mode share: the servers, what may be called, and the modules that are made of them. */

import type { Call } from "../../mcp/tool.js";
import type { ToolPolicy } from "../calls/policy.js";
import type { Language, ModuleCache } from "../modules/index.js";
import type { ReadySandboxes } from "../run/ready.js";
import { expectedNext } from "../run/request.js";
import type { Catalog, McpServers, ToolSchema, Unreachable } from "../servers/index.js";

export interface CodeMode {
  readonly servers: McpServers;
  readonly policy: ToolPolicy;
  readonly modules: ModuleCache;
  readonly ready: ReadySandboxes;
}

/** Whoever looks for tools is about to run a program, and whoever has run one another: nobody waits for this. */
export function prepareAhead({ ready }: CodeMode, { host }: Call): void {
  ready.prepare(host, () => expectedNext({ host }));
}

export function lackingNotes(lacking: readonly Unreachable[]): readonly string[] {
  return lacking.map(({ why }) => why);
}

/** How some of a server's tools are called, and what to import; empty where there are none. */
export function declarationsOf(
  { modules }: CodeMode,
  catalog: Catalog,
  isWanted: (tool: ToolSchema) => boolean,
  language: Language,
): string {
  const isPython = language === "python";
  const { declarations } = isPython ? modules.python(catalog) : modules.typescript(catalog);
  const shown = catalog.tools.filter(isWanted).map(({ name }) => declarations.get(name) ?? "");
  if (shown.length === 0) return "";
  const { module } = catalog;
  const head = isPython ? `# from tools import ${module}` : `// import * as ${module} from "tools/${module}";`;
  return `${head}\n${shown.join("")}`;
}

/** A reader gets no more than this of anything. */
export const MOST_TEXT_CHARS = 24_000;
