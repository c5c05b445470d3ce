import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { keyScopes } from "../../cli/api-options.js";
import { scopes } from "../operations/operation.js";
import { maySee, noQuotas } from "./caller.js";
import { smallCeiling } from "./key-ceiling.js";
import { KeyStore } from "./key-store.js";
import { KeyWatch } from "./key-watch.js";
import { LocalToken } from "./local-token.js";

const folder = mkdtempSync(join(tmpdir(), "agentkernel-keys-"));
afterAll(() => rmSync(folder, { recursive: true }));

const wanted = {
  name: "ci",
  scopes: ["run"],
  sandboxes: null,
  quotas: noQuotas,
  ceiling: smallCeiling,
  expiresAtMs: null,
} as const;

describe("keys", () => {
  const path = join(folder, "deep", "keys");
  const store = new KeyStore(path);
  const { key, record } = store.create(wanted);

  it("are told once and kept as hashes, in a file of their owner's alone", () => {
    const file = join(path, `${record.id}.json`);
    const text = readFileSync(file, "utf8");
    expect(text).not.toContain(key);
    expect(text).not.toContain(key.slice(`ak_${record.id}_`.length));
    expect(text).toContain(record.hash);
    expect([statSync(path).mode & 0o777, statSync(file).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  it("are found by the whole key and by nothing else", () => {
    expect(store.find(key)?.name).toBe("ci");
    expect(new KeyStore(path).find(key)?.name).toBe("ci");
    for (const wrong of ["", key.slice(1), `${key} `, key.toUpperCase(), record.hash, record.id, "ak_000000000000_"]) {
      expect(store.find(wrong)).toBeNull();
    }
  });

  it("end with their time, and when another process revokes them", () => {
    const { key: brief } = store.create({ ...wanted, name: "brief", expiresAtMs: 1000 });
    expect(store.find(brief, 999)?.name).toBe("brief");
    expect(store.find(brief, 1000)).toBeNull();
    new KeyStore(path).revoke("ci");
    expect(store.find(key)).toBeNull();
    expect(() => store.revoke("ci")).toThrow(/there is no key ci/);
  });

  it("have names of their own", () => {
    expect(() => store.create({ ...wanted, name: "brief" })).toThrow(/there is a key brief already/);
  });

  it("have the scopes that the command line offers", () => {
    expect(keyScopes).toEqual(scopes);
  });
});

describe("what goes on for a key", () => {
  it("ends when the key does, and that of others goes on", async () => {
    const caller = (id: string) => ({
      id,
      scopes: [],
      isTrusted: false,
      sandboxes: null,
      quotas: noQuotas,
      ceiling: null,
    });
    const invalid = new Set<string>();
    const watch = new KeyWatch(({ id }) => !invalid.has(id), 1);
    const ended: string[] = [];
    watch.add(caller("key:b"), () => ended.push("b"));
    watch.add(caller("key:c"), () => ended.push("c"))();
    const over = new Promise<void>((resolve) => watch.add(caller("key:a"), resolve));
    for (const id of ["key:a", "key:c"]) invalid.add(id);
    await over;
    expect(ended).toEqual([]);
  });
});

describe("who may see a sandbox", () => {
  const caller = {
    id: "key:a",
    scopes: ["sandboxes"],
    isTrusted: false,
    sandboxes: null,
    quotas: noQuotas,
    ceiling: null,
  } as const;

  it("is its owner, an admin, or whoever it was named for", () => {
    expect(maySee(caller, { name: "x", owner: "key:a" })).toBe(true);
    expect(maySee(caller, { name: "x", owner: "key:b" })).toBe(false);
    expect(maySee(caller, { name: "x", owner: null })).toBe(false);
    expect(maySee({ ...caller, scopes: ["admin"] }, { name: "x", owner: "key:b" })).toBe(true);
    expect(maySee({ ...caller, sandboxes: ["x"] }, { name: "x", owner: "key:b" })).toBe(true);
    expect(maySee({ ...caller, sandboxes: ["x"] }, { name: "y", owner: "key:a" })).toBe(false);
  });
});

describe("the token of the machine's user", () => {
  it("is in a file of its owner's alone, is new each time, and goes with the server that wrote it", () => {
    const path = join(folder, "api-tokens", "8080");
    const token = LocalToken.write(path);
    const text = readFileSync(path, "utf8").trim();
    expect([statSync(join(path, "..")).mode & 0o777, statSync(path).mode & 0o777]).toEqual([0o700, 0o600]);
    expect(text).toMatch(/^akl_[A-Za-z0-9_-]{43}$/);
    expect([token.is(text), token.is(`${text}x`), token.is("")]).toEqual([true, false, false]);
    const later = LocalToken.write(path);
    expect(later.is(text)).toBe(false);
    token.remove();
    expect(later.is(readFileSync(path, "utf8").trim())).toBe(true);
    later.remove();
    expect(existsSync(path)).toBe(false);
  });
});
