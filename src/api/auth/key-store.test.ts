import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { noQuotas } from "./caller.js";
import { smallCeiling } from "./key-ceiling.js";
import { KeyStore } from "./key-store.js";

let folder: string;
let store: KeyStore;

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "agentkernel-key-store-")), "keys");
  store = new KeyStore(folder);
});

afterEach(() => {
  vi.useRealTimers();
  rmSync(join(folder, ".."), { recursive: true });
});

const wanted = {
  scopes: ["run"],
  sandboxes: null,
  quotas: noQuotas,
  ceiling: smallCeiling,
  expiresAtMs: null,
} as const;
const make = (name: string, more: Partial<Parameters<KeyStore["create"]>[0]> = {}) =>
  store.create({ ...wanted, name, ...more });

describe("a key is found", () => {
  it("by all of it alone: another secret behind the same id is another key", () => {
    const [one, other] = [make("one"), make("other")];
    const secretOf = ({ key, record }: typeof one) => key.slice(`ak_${record.id}_`.length);
    expect(store.find(`ak_${one.record.id}_${secretOf(other)}`)).toBeNull();
    expect(store.find(`ak_${one.record.id}_${"A".repeat(43)}`)).toBeNull();
    expect(store.find(`x${one.key}`)).toBeNull();
    expect(store.find(`${one.key}x`)).toBeNull();
    expect(store.find(`ak_${"0".repeat(12)}_${secretOf(one)}`)).toBeNull();
    expect(store.find(one.key)).toEqual(one.record);
  });

  it("while it has time, with what was asked for it", () => {
    const { key, record } = make("brief", { expiresAtMs: 5000, sandboxes: ["box"], scopes: ["run", "read"] });
    expect(store.find(key, 4999)).toMatchObject({ sandboxes: ["box"], scopes: ["run", "read"], expiresAtMs: 5000 });
    expect([store.isValid(record.id, 4999), store.isValid(record.id, 5000)]).toEqual([true, false]);
    expect([store.isValid("000000000000"), store.isValid(make("ever").record.id)]).toEqual([false, true]);
  });

  it("in no folder that is not there", () => {
    expect(store.list()).toEqual([]);
    expect(store.find(`ak_${"0".repeat(12)}_${"A".repeat(43)}`)).toBeNull();
  });

  it("from the next question on after another process made or revoked it, however soon", () => {
    const another = new KeyStore(folder);
    for (let at = 0; at < 20; at++) {
      const { key, record } = make(`k${at}`);
      expect(another.find(key)?.id).toBe(record.id);
      store.revoke(record.id);
      expect(another.find(key)).toBeNull();
    }
  });

  it("without reading files anew while their folder stays as it is", () => {
    const { key, record } = make("kept");
    const longAgo = new Date(Date.now() - 60_000);
    utimesSync(folder, longAgo, longAgo);
    expect(store.find(key)?.name).toBe("kept");
    // A file's own change leaves the folder's time alone; nobody but us writes there, and we rename.
    writeFileSync(join(folder, `${record.id}.json`), "broken");
    expect(store.find(key)?.name).toBe("kept");
    utimesSync(folder, new Date(longAgo.getTime() + 1), new Date(longAgo.getTime() + 1));
    expect(() => store.find(key)).toThrow(/is not|Unexpected/);
  });
});

describe("keys are listed", () => {
  it("the oldest first", () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    for (const [name, at] of [
      ["second", 2000],
      ["third", 3000],
      ["first", 1000],
    ] as const) {
      vi.setSystemTime(at);
      make(name);
    }
    expect(store.list().map(({ name, createdAtMs }) => [name, createdAtMs])).toEqual([
      ["first", 1000],
      ["second", 2000],
      ["third", 3000],
    ]);
  });

  it("by files of their form alone: what a write left is none", () => {
    const { record } = make("whole");
    for (const name of [`${record.id}.new`, `x${record.id}.json`, `${record.id}.json.bak`, "README"])
      writeFileSync(join(folder, name), "nothing of ours");
    expect(store.list().map(({ name }) => name)).toEqual(["whole"]);
  });
});

describe("a key is revoked", () => {
  it("by its name or its id, and only that one", () => {
    const keys = ["a", "b", "c"].map((name) => make(name));
    expect(store.revoke("a").id).toBe(keys[0]?.record.id);
    expect(store.revoke(keys[1]?.record.id ?? "").name).toBe("b");
    expect(readdirSync(folder)).toEqual([`${keys[2]?.record.id}.json`]);
    expect(() => store.revoke("a")).toThrow(
      expect.objectContaining({
        code: "not_found",
        message: "there is no key a",
        hint: "agentkernel keys list shows them",
      }),
    );
  });
});

describe("a name that is taken", () => {
  it("is refused among several, and nothing is written", () => {
    make("a");
    make("b");
    expect(() => make("b")).toThrow(expect.objectContaining({ code: "conflict", message: "there is a key b already" }));
    expect(readdirSync(folder)).toHaveLength(2);
  });
});

describe("a file that is not a key of this version", () => {
  const changed = (change: (file: { version: unknown; key: Record<string, unknown> }) => unknown) => {
    const { record } = make("changed", { scopes: ["run", "read"] });
    const path = join(folder, `${record.id}.json`);
    writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, "utf8")))));
    return () => new KeyStore(folder).list();
  };
  const withKey = (part: Readonly<Record<string, unknown>>) =>
    changed(({ version, key }) => ({ version, key: { ...key, ...part } }));

  it.each([
    ["another version", { version: 2 }],
    ["no key", { key: null }],
    ["a key that is text", { key: "ak" }],
  ])("with %s is refused", (_, part) => {
    const listed = changed((file) => ({ ...file, ...part }));
    expect(listed).toThrow(
      expect.objectContaining({
        code: "conflict",
        message: expect.stringMatching(/[0-9a-f]{12}\.json is not a key that this version knows$/),
        hint: "it was written by another version, or edited; move it away",
      }),
    );
  });

  it.each([
    [{ id: "000000000000" }],
    [{ id: 7 }],
    [{ name: 7 }],
    [{ hash: 7 }],
    [{ hash: "a".repeat(63) }],
    [{ hash: "a".repeat(65) }],
    [{ hash: "A".repeat(64) }],
    [{ scopes: "run" }],
    [{ scopes: ["run", "everything"] }],
    [{ sandboxes: "box" }],
    [{ sandboxes: undefined }],
    [{ quotas: null }],
    [{ quotas: 7 }],
    [{ createdAtMs: "today" }],
    [{ ceiling: { network: "everything" } }],
  ])("with %j is refused", (part) => expect(withKey(part)).toThrow(/is not a key that this version knows/));

  it("is none where it only lacks a ceiling, which is small then", () => {
    expect(withKey({ ceiling: undefined })()[0]?.ceiling).toEqual(smallCeiling);
    store.revoke("changed");
    expect(withKey({ ceiling: null })()[0]?.ceiling).toEqual(smallCeiling);
  });

  it("is none of an admin, who has no ceiling whatever the file says", () => {
    expect(withKey({ scopes: ["admin"], ceiling: { network: "everything" } })()[0]?.ceiling).toBeNull();
  });
});

it("a folder that is there and empty is as good as none", () => {
  mkdirSync(folder, { recursive: true });
  expect(store.list()).toEqual([]);
  const { key } = make("later");
  expect(store.find(key)?.name).toBe("later");
});
