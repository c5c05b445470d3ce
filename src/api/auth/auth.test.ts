import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { keyScopes } from "../../cli/api-options.js";
import { scopes } from "../operations/operation.js";
import { maySee, noQuotas } from "./caller.js";
import { KeyStore } from "./key-store.js";
import { KeyWatch } from "./key-watch.js";
import { type Owners, ownersIn, PeerTable } from "./peer-table.js";
import { ownerIn, peerUser } from "./tcp-peer.js";

const folder = mkdtempSync(join(tmpdir(), "agentkernel-keys-"));
afterAll(() => rmSync(folder, { recursive: true }));

const wanted = { name: "ci", scopes: ["run"], sandboxes: null, quotas: noQuotas, expiresAtMs: null } as const;

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
    const caller = (id: string) => ({ id, scopes: [], isTrusted: false, sandboxes: null, quotas: noQuotas });
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
  const caller = { id: "key:a", scopes: ["sandboxes"], isTrusted: false, sandboxes: null, quotas: noQuotas } as const;

  it("is its owner, an admin, or whoever it was named for", () => {
    expect(maySee(caller, { name: "x", owner: "key:a" })).toBe(true);
    expect(maySee(caller, { name: "x", owner: "key:b" })).toBe(false);
    expect(maySee(caller, { name: "x", owner: null })).toBe(false);
    expect(maySee({ ...caller, scopes: ["admin"] }, { name: "x", owner: "key:b" })).toBe(true);
    expect(maySee({ ...caller, sandboxes: ["x"] }, { name: "x", owner: "key:b" })).toBe(true);
    expect(maySee({ ...caller, sandboxes: ["x"] }, { name: "y", owner: "key:a" })).toBe(false);
  });
});

describe("the user at the other end", () => {
  it.each(["127.0.0.1", "::1"])("is known for a connection over %s", async (host) => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    const { port } = server.address() as AddressInfo;
    const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
    const client = connect(port, host);
    expect(await peerUser(await accepted)).toBe(process.geteuid?.());
    client.destroy();
    server.close();
  });

  const ends = { localAddress: "127.0.0.1", localPort: 8080, remoteAddress: "127.0.0.1", remotePort: 40_000 };
  const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
  const line = (fields: { uid?: number; inode?: number; state?: string; local?: string }) =>
    `${head}   0: ${fields.local ?? "0100007F:9C40"} 0100007F:1F90 ${fields.state ?? "01"} 00000000:00000000 00:00000000 00000000  ${fields.uid ?? 1000}        0 ${fields.inode ?? 77} 1 0\n`;

  it("is the one that the kernel names for exactly this connection", () => {
    expect(ownerIn(ownersIn(line({})), ends)).toBe(1000);
    expect(ownerIn(ownersIn(line({ local: "0100007F:9C41" })), ends)).toBeNull();
    expect(ownerIn(ownersIn(line({ state: "06" })), ends)).toBeNull();
    expect(ownerIn(ownersIn(head), ends)).toBeNull();
  });

  it("is looked up for all who come together in one reading, which began after they came", async () => {
    const readings: ((owners: Owners) => void)[] = [];
    const table = new PeerTable(() => new Promise((resolve) => readings.push(resolve)));
    const first = table.now();
    await Promise.resolve();
    const later = Array.from({ length: 1000 }, () => table.now());
    expect(readings).toHaveLength(1);
    readings[0]?.(new Map([["one", 1]]));
    expect((await first).get("one")).toBe(1);
    while (readings.length < 2) await Promise.resolve();
    readings[1]?.(new Map([["two", 2]]));
    for (const owners of await Promise.all(later)) expect(owners.get("two")).toBe(2);
    expect(readings).toHaveLength(2);
  });

  it("is nobody, and not root, where the socket belongs to no process any more", () => {
    expect(ownerIn(ownersIn(line({ uid: 0, inode: 0 })), ends)).toBeNull();
  });
});
