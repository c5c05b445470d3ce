/** The bytes of modules, and their digests. */
import type { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { distFolder } from "../../core/build-id.js";
import { AgentKernelError } from "../../core/errors.js";
import { type Engine, engines, type Language } from "./languages.js";

/** Where a module comes from. */
export type ModuleSource =
  | { readonly kind: "file"; readonly path: string; readonly name: string }
  | { readonly kind: "bytes"; readonly bytes: Buffer; readonly name: string }
  /** An engine of ours, which runs the first argument. */
  | { readonly kind: "language"; readonly language: Language };

const MAX_MODULE_BYTES = 64 << 20;
/** Digests of files that are remembered. */
const REMEMBERED = 64;

export function nameOf(source: ModuleSource): string {
  return source.kind === "language" ? source.language : source.name;
}

/** Reads modules, and knows the digests of files that have not changed since. */
export class ModuleFiles {
  readonly #digests = new Map<string, string>();
  readonly #enginesFolder: string;

  /** The user's own folder for engines that do not come along. */
  constructor(enginesFolder: string) {
    this.#enginesFolder = enginesFolder;
  }

  digestOf(source: ModuleSource): string {
    if (source.kind === "bytes") return sha256(source.bytes);
    const path = this.#pathOf(source);
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    const key = stat && [path, stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(":");
    const known = key && this.#digests.get(key);
    if (known) return known;
    const digest = sha256(bytesAt(path, nameOf(source)));
    if (key) this.#remember(key, digest);
    return digest;
  }

  /** The bytes that have this digest. */
  read(source: ModuleSource, digest: string): Buffer {
    if (source.kind === "bytes") return source.bytes;
    const bytes = bytesAt(this.#pathOf(source), nameOf(source));
    if (sha256(bytes) === digest) return bytes;
    throw new AgentKernelError("conflict", `${nameOf(source)}: the module was changed while it was read`, {
      hint: "run it again when whoever writes it is done",
    });
  }

  #pathOf(source: Exclude<ModuleSource, { kind: "bytes" }>): string {
    if (source.kind === "file") return source.path;
    const engine = engines[source.language];
    const places = [...enginePlaces(engine), join(this.#enginesFolder, engine.file)];
    const found = places.find((path) => existsSync(path));
    if (found === undefined) throw noEngine(source.language);
    return found;
  }

  #remember(key: string, digest: string): void {
    const [oldest] = this.#digests.keys();
    if (this.#digests.size >= REMEMBERED && oldest !== undefined) this.#digests.delete(oldest);
    this.#digests.set(key, digest);
  }
}

function bytesAt(path: string, name: string): Buffer {
  try {
    // A pipe would hold everybody up.
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(descriptor);
      if (!stat.isFile()) throw new Error("it is not a regular file");
      if (stat.size > MAX_MODULE_BYTES) throw new Error("it is larger than 64 MiB");
      return readFileSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (cause) {
    throw unreadable(name, cause);
  }
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** With the bundle, or where npm puts it: below a checkout, or beside our own package. Nowhere further up. */
function enginePlaces({ file, place }: Engine): readonly string[] {
  const dist = distFolder();
  const root = dirname(dist);
  const beside = basename(dirname(root)) === "node_modules" ? [join(dirname(root), place)] : [];
  return [join(dist, "wasm", file), join(root, "node_modules", place), ...beside];
}

function noEngine(language: Language): AgentKernelError {
  const { carriedBy, isShipped } = engines[language];
  if (isShipped) {
    return new AgentKernelError("backend_unavailable", `the engine for ${language} is not built`, {
      hint: "in a checkout, npm run build makes it; a package that lacks it is broken: install it again",
    });
  }
  return new AgentKernelError("backend_unavailable", `the engine for ${language} is not installed`, {
    hint: `it does not come along: npm install -g ${carriedBy}, or see docs/wasm.md`,
  });
}

function unreadable(name: string, cause: unknown): AgentKernelError {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  if (code === "ENOENT" || code === "ENOTDIR") {
    return new AgentKernelError("command_not_found", `${name}: there is no such module`, {
      hint: "the first word is the path of a .wasm file on this machine; for a program's text add --lang js",
      cause,
    });
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AgentKernelError("command_not_executable", `${name}: the module cannot be read: ${reason}`, {
    hint: "it must be a plain file that you may read, of at most 64 MiB",
    cause,
  });
}
