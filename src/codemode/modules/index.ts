/** Modules are made once for each state of a server's tools, known by its hash. */
import type { Catalog } from "../servers/index.js";
import { type PythonModule, pythonModule } from "./python.js";
import { type TypeScriptModule, typescriptModule } from "./typescript.js";

export const languages = ["typescript", "javascript", "python"] as const;
export type Language = (typeof languages)[number];

const MOST_KEPT = 256;

export class ModuleCache {
  readonly #typescript = new Map<string, TypeScriptModule>();
  readonly #python = new Map<string, PythonModule>();

  typescript(catalog: Catalog): TypeScriptModule {
    return kept(this.#typescript, catalog, typescriptModule);
  }

  python(catalog: Catalog): PythonModule {
    return kept(this.#python, catalog, pythonModule);
  }
}

function kept<T>(known: Map<string, T>, catalog: Catalog, make: (catalog: Catalog) => T): T {
  const key = `${catalog.server} ${catalog.hash}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make(catalog);
  const oldest = known.size >= MOST_KEPT ? known.keys().next().value : undefined;
  if (oldest !== undefined) known.delete(oldest);
  known.set(key, made);
  return made;
}
