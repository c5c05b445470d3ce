/**
 * API keys on disk: who may ask over the network. A key is 256 random bits, so its SHA-256 is all that is kept: there is
 * nothing to guess that a slow hash would slow down, and whoever reads the files learns no key. Each key has a file of its
 * own, so that making one and revoking another at the same moment cannot undo each other.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AgentKernelError } from "../../core/errors.js";
import { textIfThere } from "../../core/text-if-there.js";
import { type Scope, scopes } from "../operations/operation.js";
import type { Quotas } from "./caller.js";
import { ceilingJson, type KeyCeiling, readCeiling, smallCeiling } from "./key-ceiling.js";

export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the whole key, as hex. */
  readonly hash: string;
  readonly scopes: readonly Scope[];
  readonly sandboxes: readonly string[] | null;
  readonly quotas: Quotas;
  /** Null for the scope `admin`, which acts as the user. */
  readonly ceiling: KeyCeiling | null;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
}

type NewKey = Omit<KeyRecord, "id" | "hash" | "createdAtMs">;

const PREFIX = "ak";
const FORM = /^ak_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;
const FILE = /^([0-9a-f]{12})\.json$/;
const VERSION = 1;
/** A folder that changed so short a time ago may change again without its time telling. */
const CLOCK_STEP_MS = 100;

export class KeyStore {
  readonly #folder: string;
  #seen = "";
  #keys: ReadonlyMap<string, KeyRecord> = new Map();

  constructor(folder: string) {
    this.#folder = folder;
  }

  list(): readonly KeyRecord[] {
    return [...this.#read().values()].sort((one, other) => one.createdAtMs - other.createdAtMs);
  }

  /** The key itself is told here and never again. */
  create(wanted: NewKey): { readonly key: string; readonly record: KeyRecord } {
    if (this.list().some(({ name }) => name === wanted.name)) {
      throw new AgentKernelError("conflict", `there is a key ${wanted.name} already`, {
        hint: `choose another name, or revoke it: agentkernel keys revoke ${wanted.name}`,
      });
    }
    const id = randomBytes(6).toString("hex");
    const key = `${PREFIX}_${id}_${randomBytes(32).toString("base64url")}`;
    const record = { ...wanted, id, hash: hashOf(key).toString("hex"), createdAtMs: Date.now() };
    this.#write(record);
    return { key, record };
  }

  /** By name or id. */
  revoke(which: string): KeyRecord {
    const found = this.list().find(({ id, name }) => id === which || name === which);
    if (found === undefined) {
      throw new AgentKernelError("not_found", `there is no key ${which}`, { hint: "agentkernel keys list shows them" });
    }
    rmSync(this.#fileOf(found.id), { force: true });
    return found;
  }

  /** The record of a key that is valid now, or null. Takes as long whichever part of the key is wrong. */
  find(key: string, nowMs = Date.now()): KeyRecord | null {
    const id = FORM.exec(key)?.[1];
    const record = id === undefined ? undefined : this.#read().get(id);
    const expected = record === undefined ? Buffer.alloc(32) : Buffer.from(record.hash, "hex");
    const isRight = timingSafeEqual(hashOf(key), expected);
    if (record === undefined || !isRight) return null;
    return record.expiresAtMs !== null && record.expiresAtMs <= nowMs ? null : record;
  }

  /** By the id in the key's record; null where the key is not valid now. */
  get(id: string, nowMs = Date.now()): KeyRecord | null {
    const record = this.#read().get(id);
    return record !== undefined && (record.expiresAtMs === null || record.expiresAtMs > nowMs) ? record : null;
  }

  isValid(id: string, nowMs = Date.now()): boolean {
    return this.get(id, nowMs) !== null;
  }

  /** What another process has changed holds from the next request on. */
  #read(): ReadonlyMap<string, KeyRecord> {
    const found = statSync(this.#folder, { throwIfNoEntry: false, bigint: true });
    const seen = found === undefined ? "none" : `${found.ino} ${found.mtimeNs}`;
    if (seen === this.#seen) return this.#keys;
    this.#keys = new Map(found === undefined ? [] : this.#readAll().map((record) => [record.id, record]));
    const isSettled = found === undefined || Date.now() - Number(found.mtimeMs) > CLOCK_STEP_MS;
    this.#seen = isSettled ? seen : "";
    return this.#keys;
  }

  #readAll(): readonly KeyRecord[] {
    const ids = readdirSync(this.#folder).flatMap((name) => FILE.exec(name)?.[1] ?? []);
    return ids.flatMap((id) => this.#readOne(id) ?? []);
  }

  /** Null where it was revoked meanwhile. */
  #readOne(id: string): KeyRecord | null {
    const text = textIfThere(this.#fileOf(id));
    if (text === null) return null;
    const { version, key } = JSON.parse(text) as { version: unknown; key: unknown };
    if (version === VERSION && isRecord(key) && key.id === id) {
      const ceiling = ceilingIn(key);
      if (ceiling !== undefined) return { ...key, ceiling };
    }
    throw new AgentKernelError("conflict", `${this.#fileOf(id)} is not a key that this version knows`, {
      hint: "it was written by another version, or edited; move it away",
    });
  }

  #fileOf(id: string): string {
    return join(this.#folder, `${id}.json`);
  }

  #write(record: KeyRecord): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const fresh = join(this.#folder, `${record.id}.new`);
    const ceiling = record.ceiling === null ? null : ceilingJson(record.ceiling);
    const text = JSON.stringify({ version: VERSION, key: { ...record, ceiling } });
    writeFileSync(fresh, `${text}\n`, { mode: 0o600, flush: true });
    renameSync(fresh, this.#fileOf(record.id));
  }
}

function hashOf(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}

/** A key of a version without ceilings has the small one. Undefined where it is not a ceiling. */
function ceilingIn({ scopes: given, ceiling }: KeyRecord): KeyCeiling | null | undefined {
  if (given.includes("admin")) return null;
  if (ceiling === undefined || ceiling === null) return smallCeiling;
  return readCeiling(ceiling) ?? undefined;
}

function isRecord(value: unknown): value is KeyRecord {
  if (typeof value !== "object" || value === null) return false;
  const { id, name, hash, scopes: given, sandboxes, quotas, createdAtMs } = value as Readonly<Record<string, unknown>>;
  const known: readonly unknown[] = scopes;
  return (
    typeof id === "string" &&
    typeof name === "string" &&
    typeof hash === "string" &&
    /^[0-9a-f]{64}$/.test(hash) &&
    Array.isArray(given) &&
    given.every((scope) => known.includes(scope)) &&
    (sandboxes === null || Array.isArray(sandboxes)) &&
    typeof quotas === "object" &&
    quotas !== null &&
    typeof createdAtMs === "number"
  );
}
