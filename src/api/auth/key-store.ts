/**
 * API keys on disk: who may ask over the network. A key is 256 random bits, so its SHA-256 is all that is kept: there is
 * nothing to guess that a slow hash would slow down, and whoever reads the file learns no key.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { AgentKernelError } from "../../core/errors.js";
import { type Scope, scopes } from "../operations/operation.js";
import type { Quotas } from "./caller.js";

export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the whole key, as hex. */
  readonly hash: string;
  readonly scopes: readonly Scope[];
  readonly sandboxes: readonly string[] | null;
  readonly quotas: Quotas;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
}

export type NewKey = Omit<KeyRecord, "id" | "hash" | "createdAtMs">;

const PREFIX = "ak";
const FORM = /^ak_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;
const VERSION = 1;

export class KeyStore {
  readonly #path: string;
  #seen = "";
  #keys: ReadonlyMap<string, KeyRecord> = new Map();

  constructor(path: string) {
    this.#path = path;
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
    this.#write([...this.list(), record]);
    return { key, record };
  }

  /** By name or id. */
  revoke(which: string): KeyRecord {
    const found = this.list().find(({ id, name }) => id === which || name === which);
    if (found === undefined) {
      throw new AgentKernelError("not_found", `there is no key ${which}`, { hint: "agentkernel keys list shows them" });
    }
    this.#write(this.list().filter(({ id }) => id !== found.id));
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

  /** What another process has changed holds from the next request on. */
  #read(): ReadonlyMap<string, KeyRecord> {
    const found = statSync(this.#path, { throwIfNoEntry: false, bigint: true });
    const seen = found === undefined ? "" : `${found.ino} ${found.mtimeNs} ${found.size}`;
    if (seen === this.#seen) return this.#keys;
    this.#keys = new Map(found === undefined ? [] : this.#parse().map((record) => [record.id, record]));
    this.#seen = seen;
    return this.#keys;
  }

  #parse(): readonly KeyRecord[] {
    const { version, keys } = JSON.parse(readFileSync(this.#path, "utf8")) as { version: unknown; keys: unknown };
    if (version !== VERSION || !Array.isArray(keys) || !keys.every(isRecord)) {
      throw new AgentKernelError("conflict", `${this.#path} is not a list of keys that this version knows`, {
        hint: "it was written by another version, or edited; move it away to begin anew",
      });
    }
    return keys;
  }

  #write(keys: readonly KeyRecord[]): void {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    const fresh = `${this.#path}.${process.pid}`;
    writeFileSync(fresh, `${JSON.stringify({ version: VERSION, keys }, null, 2)}\n`, { mode: 0o600, flush: true });
    chmodSync(fresh, 0o600);
    renameSync(fresh, this.#path);
  }
}

function hashOf(key: string): Buffer {
  return createHash("sha256").update(key).digest();
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
