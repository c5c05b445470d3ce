/** Modules are made once for each state of a server's tools, known by its hash: kept in memory, and on disk for others. */
import type { Catalog } from "../servers/index.js";
import type { ModuleFiles } from "./module-files.js";
import { type PythonModule, pythonModule } from "./python.js";
import { isFields } from "./schema-type.js";
import { type TypeScriptModule, typescriptModule } from "./typescript.js";

export const languages = ["typescript", "javascript", "python"] as const;
export type Language = (typeof languages)[number];

const MOST_KEPT = 256;

export class ModuleCache {
  readonly #typescript = new Map<string, TypeScriptModule>();
  readonly #python = new Map<string, PythonModule>();
  readonly #files: ModuleFiles | null;

  constructor(files: ModuleFiles | null) {
    this.#files = files;
  }

  typescript(catalog: Catalog): TypeScriptModule {
    return this.#kept(this.#typescript, catalog, {
      kind: "typescript",
      make: typescriptModule,
      restore: ({ declarations, declarationFile, javascript }) =>
        declarations === null || typeof declarationFile !== "string" || typeof javascript !== "string"
          ? null
          : { declarations, declarationFile, javascript },
    });
  }

  python(catalog: Catalog): PythonModule {
    return this.#kept(this.#python, catalog, {
      kind: "python",
      make: pythonModule,
      restore: ({ declarations, source }) =>
        declarations === null || typeof source !== "string" ? null : { declarations, source },
    });
  }

  #kept<T extends Module>(known: Map<string, T>, catalog: Catalog, { kind, make, restore }: Making<T>): T {
    const key = `${catalog.server} ${catalog.hash}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const stored = this.#files?.read(kind, catalog);
    const restored = isFields(stored) ? restore({ ...stored, declarations: entriesOf(stored.declarations) }) : null;
    const made = restored ?? make(catalog);
    if (restored === null) this.#files?.write(kind, catalog, { ...made, declarations: [...made.declarations] });
    const oldest = known.size >= MOST_KEPT ? known.keys().next().value : undefined;
    if (oldest !== undefined) known.delete(oldest);
    known.set(key, made);
    return made;
  }
}

interface Module {
  readonly declarations: ReadonlyMap<string, string>;
}

interface Making<T> {
  readonly kind: string;
  readonly make: (catalog: Catalog) => T;
  /** Null where a file does not hold one. */
  readonly restore: (
    stored: Readonly<Record<string, unknown>> & { readonly declarations: ReadonlyMap<string, string> | null },
  ) => T | null;
}

function entriesOf(value: unknown): ReadonlyMap<string, string> | null {
  const isEntry = (one: unknown): one is [string, string] =>
    Array.isArray(one) && one.length === 2 && one.every((part) => typeof part === "string");
  return Array.isArray(value) && value.every(isEntry) ? new Map(value) : null;
}
