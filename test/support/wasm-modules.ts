/** Modules for tests: compiled here from the Rust in test/fixtures/wasm, or put together byte by byte. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";

const SOURCES = "test/fixtures/wasm";
const COMPILED = ".build/wasm-fixtures";
/** The same, for a Rust that has no wasm32-wasip1 and cannot get it; named by the source that each was compiled from. */
const COMPILED_BEFORE = join(SOURCES, "compiled");

/** The path of a module that was compiled from this source, absolute. */
export function rustModule(name: "tell" | "hostile" | "files" | "raw" | "chance"): string {
  const source = join(SOURCES, `${name}.rs`);
  const file = moduleFile(name, readFileSync(source));
  const path = join(process.cwd(), COMPILED, file);
  if (existsSync(path)) return path;
  const before = join(process.cwd(), COMPILED_BEFORE, file);
  if (!hasTarget() && existsSync(before)) return before;
  mkdirSync(COMPILED, { recursive: true, mode: 0o755 });
  const fresh = `${path}.${process.pid}`;
  const words = ["--edition", "2024", "--target", "wasm32-wasip1", "-O", "-C", "panic=abort", source, "-o", fresh];
  const made = spawnSync("rustc", [...words, "-C", "strip=symbols"], { encoding: "utf8" });
  if (made.status !== 0) {
    throw new Error(`${source} could not be compiled; rustup target add wasm32-wasip1 may help: ${made.stderr}`);
  }
  renameSync(fresh, path);
  return path;
}

export function moduleFile(name: string, source: Buffer): string {
  return `${name}-${createHash("sha256").update(source).digest("hex").slice(0, 16)}.wasm`;
}

function hasTarget(): boolean {
  const { stdout } = spawnSync("rustc", ["--print", "sysroot"], { encoding: "utf8" });
  return existsSync(join(stdout.trim(), "lib", "rustlib", "wasm32-wasip1"));
}

/** Numbers of the binary format: seven bits a byte, the lowest first. */
function leb(value: number): number[] {
  const low = value % 128;
  const rest = Math.floor(value / 128);
  return rest === 0 ? [low] : [low + 128, ...leb(rest)];
}

const text = (value: string): number[] => [...leb(value.length), ...Buffer.from(value)];
const list = (items: readonly (readonly number[])[]): number[] => [...leb(items.length), ...items.flat()];
const section = (id: number, body: readonly number[]): number[] => [id, ...leb(body.length), ...body];

const END = 0x0b;
/** Instructions of a body without variables. */
export const code = {
  nothing: [],
  unreachable: [0x00],
  forever: [0x03, 0x40, 0x0c, 0x00, END],
  itself: [0x10, 0x00],
} as const;

export interface HandMade {
  readonly start?: readonly number[];
  /** It is executed while the instance is made. */
  readonly atOnce?: boolean;
  readonly imports?: readonly (readonly [module: string, name: string])[];
  readonly memoryPages?: number;
  readonly tableElements?: number;
  readonly entry?: string;
}

/** A module with one function, which is exported as its entry. */
export function handMadeModule(parts: HandMade = {}): Buffer {
  const { start = code.nothing, imports = [], entry = "_start" } = parts;
  const body = [0x00, ...start, END];
  const index = imports.length;
  const bytes = [
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, list([[0x60, 0x00, 0x00]])),
    ...(imports.length === 0
      ? []
      : section(2, list(imports.map(([from, name]) => [...text(from), ...text(name), 0x00, 0x00])))),
    ...section(3, list([[0x00]])),
    ...(parts.tableElements === undefined ? [] : section(4, list([[0x70, 0x00, ...leb(parts.tableElements)]]))),
    ...section(5, list([[0x00, ...leb(parts.memoryPages ?? 1)]])),
    ...section(
      7,
      list([
        [...text("memory"), 0x02, 0x00],
        [...text(entry), 0x00, ...leb(index)],
      ]),
    ),
    ...(parts.atOnce ? section(8, leb(index)) : []),
    ...section(10, list([[...leb(body.length), ...body]])),
  ];
  return Buffer.from(bytes);
}
