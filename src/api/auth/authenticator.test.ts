import { mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { markPort } from "../../core/own-ports.js";
import type { Door } from "./browsers.js";
import { type Caller, localUser, noQuotas, ownerOf, refuseUnlessScoped } from "./caller.js";
import { Authenticator } from "./index.js";
import type { JwtVerifier } from "./jwt.js";
import { smallCeiling } from "./key-ceiling.js";
import { KeyStore } from "./key-store.js";
import { LocalToken } from "./local-token.js";

const folder = mkdtempSync(join(tmpdir(), "agentkernel-authenticator-"));
afterAll(() => rmSync(folder, { recursive: true }));

const keys = new KeyStore(join(folder, "keys"));
const wanted = { sandboxes: null, quotas: noQuotas, ceiling: smallCeiling, expiresAtMs: null } as const;
const ordinary = keys.create({ ...wanted, name: "ordinary", scopes: ["run"], sandboxes: ["box"] });
const admin = keys.create({ ...wanted, name: "admin", scopes: ["admin"] });
const limited = keys.create({ ...wanted, name: "limited", scopes: ["run"], quotas: { ...noQuotas, concurrency: 2 } });
const tokenFile = join(folder, "tokens", "1");
const localToken = LocalToken.write(tokenFile);
const { readFileSync } = await import("node:fs");
const localText = readFileSync(tokenFile, "utf8").trim();
const ofToken: Caller = {
  ...localUser,
  id: "jwt:ada",
  isTrusted: false,
  scopes: ["run"],
  validUntilMs: Date.now() + 60_000,
};
const asked: string[] = [];
const jwt = {
  verify: async (token: string) => {
    asked.push(token);
    return token === "a.b.c" ? ofToken : null;
  },
} as unknown as JwtVerifier;

const tcp: Door = { kind: "tcp", isTls: false, host: "127.0.0.1", domain: null, newcomers: null };
const unix: Door = { kind: "unix", isTls: false, host: null, domain: null, newcomers: null };
const authenticator = new Authenticator({ keys, jwt, localToken: () => localToken });

/** A request as far as it is looked at. */
function request(authorization?: string, socket: object = { localAddress: "127.0.0.1", remoteAddress: "127.0.0.1" }) {
  return { headers: { host: "localhost", ...(authorization === undefined ? {} : { authorization }) }, socket };
}
const callerOf = (from: object, door = tcp, by = authenticator) => by.callerOf(from as IncomingMessage, door);
const bearer = (token: string, socket?: object) => callerOf(request(`Bearer ${token}`, socket));
const unauthorized = (message: RegExp) =>
  expect.objectContaining({ code: "unauthorized", message: expect.stringMatching(message) });

describe("who asks", () => {
  it("is the user over a Unix socket, and nobody over TCP without a key", async () => {
    expect(await callerOf(request(), unix)).toBe(localUser);
    await expect(callerOf(request())).rejects.toEqual(unauthorized(/^a key is needed$/));
  });

  it("is a key's bearer, with what the key has", async () => {
    expect(await bearer(ordinary.key)).toEqual({
      id: `key:${ordinary.record.id}`,
      scopes: ["run"],
      isTrusted: false,
      sandboxes: ["box"],
      quotas: noQuotas,
      ceiling: smallCeiling,
    });
    expect(await bearer(admin.key)).toMatchObject({ isTrusted: true, ceiling: null, scopes: ["admin"] });
    expect((await bearer(limited.key)).quotas).toEqual({ ...noQuotas, concurrency: 2 });
  });

  it("is a key's bearer over a Unix socket, too, and no wrong key's", async () => {
    expect((await callerOf(request(`bearer  ${ordinary.key}`), unix)).id).toBe(`key:${ordinary.record.id}`);
    await expect(callerOf(request("Bearer wrong"), unix)).rejects.toEqual(unauthorized(/^the key is not valid$/));
  });

  it.each(["", "Bearer", "Bearer ", "Basic x", "xBearer y", "Bearer a b", "Bearer a\n", "Bearer é"])(
    "is nobody with the header %j",
    (header) => expect(callerOf(request(header))).rejects.toEqual(unauthorized(/not of the form Bearer KEY/)),
  );

  it("is the user with the token of this server, over loopback at both ends alone", async () => {
    expect(await bearer(localText)).toBe(localUser);
    for (const socket of [
      { localAddress: "192.0.2.7", remoteAddress: "127.0.0.1" },
      { localAddress: "127.0.0.1", remoteAddress: "192.0.2.7" },
    ])
      await expect(bearer(localText, socket)).rejects.toEqual(unauthorized(/^the key is not valid$/));
    await expect(bearer(`${localText}x`)).rejects.toEqual(unauthorized(/^the key is not valid$/));
    const without = new Authenticator({ keys, jwt: null, localToken: () => null });
    await expect(callerOf(request(`Bearer ${localText}`), tcp, without)).rejects.toEqual(
      unauthorized(/^the key is not valid$/),
    );
  });

  it("is a token's subject where its issuer is known; what has not three parts is no token", async () => {
    expect(await bearer("a.b.c")).toBe(ofToken);
    await expect(bearer("a.b.d")).rejects.toEqual(unauthorized(/^the key is not valid$/));
    const before = asked.length;
    for (const none of ["a.b", "a.b.c.d", "abc"]) await expect(bearer(none)).rejects.toEqual(unauthorized(/not valid/));
    expect(asked).toHaveLength(before);
    const without = new Authenticator({ keys, jwt: null, localToken: () => null });
    await expect(callerOf(request("Bearer a.b.c"), tcp, without)).rejects.toEqual(unauthorized(/not valid/));
  });

  it("is the owner of a sandbox where a token of it is sent, as long as the owner's key is valid", () => {
    expect(authenticator.callerOfOwner(null)).toBe(localUser);
    expect(authenticator.callerOfOwner(`key:${ordinary.record.id}`)).toMatchObject({
      scopes: ["run"],
      sandboxes: ["box"],
    });
    expect(authenticator.callerOfOwner("key:000000000000")).toBeNull();
    expect(authenticator.callerOfOwner("jwt:ada")).toMatchObject({
      id: "jwt:ada",
      scopes: ["run", "sandboxes"],
      isTrusted: false,
      ceiling: null,
    });
  });

  it("is whoever sends a key in a header of another dialect, by the same rules", async () => {
    const by = (key: string, headers: object = {}) => {
      const from = request();
      return authenticator.callerOfKey(
        key,
        { ...from, headers: { ...from.headers, ...headers } } as IncomingMessage,
        tcp,
      );
    };
    expect((await by(ordinary.key)).id).toBe(`key:${ordinary.record.id}`);
    await expect(by("wrong")).rejects.toEqual(unauthorized(/not valid/));
    await expect(by(ordinary.key, { origin: "http://evil.example" })).rejects.toMatchObject({ code: "forbidden" });
  });

  it("is no page of another site, whatever key it brings", async () => {
    const page = { ...request(`Bearer ${admin.key}`) };
    const foreign = { ...page, headers: { ...page.headers, origin: "http://evil.example" } };
    await expect(callerOf(foreign)).rejects.toMatchObject({ code: "forbidden" });
  });

  it("is no sandbox, whatever key it brings; it is asked once of a connection", async () => {
    const mark = await markPort("dialled", 45_321);
    const socket = { localAddress: "127.0.0.1", remoteAddress: "127.0.0.1", remotePort: 45_321 };
    try {
      await expect(bearer(admin.key, socket)).rejects.toMatchObject({
        code: "forbidden",
        message: "sandboxes may not use the interface that runs them",
      });
    } finally {
      mark.release();
    }
    await expect(bearer(admin.key, socket)).rejects.toMatchObject({ code: "forbidden" });
    expect((await bearer(admin.key, { ...socket })).id).toBe(`key:${admin.record.id}`);
    // Such a port says nothing over a socket file.
    expect(await callerOf(request(undefined, socket), unix)).toBe(localUser);
  });
});

describe("whether somebody would be let in again", () => {
  it("is so while the key is there, and while the token has time", () => {
    const caller = (id: string, validUntilMs?: number): Caller => ({
      ...localUser,
      id,
      ...(validUntilMs === undefined ? {} : { validUntilMs }),
    });
    const revoked = keys.create({ ...wanted, name: "revoked", scopes: ["run"] });
    expect(authenticator.isValid(caller(`key:${revoked.record.id}`))).toBe(true);
    keys.revoke("revoked");
    expect(authenticator.isValid(caller(`key:${revoked.record.id}`))).toBe(false);
    expect(authenticator.isValid(caller("jwt:ada", Date.now() + 10_000))).toBe(true);
    expect(authenticator.isValid(caller("jwt:ada", Date.now() - 1))).toBe(false);
    expect(authenticator.isValid(localUser)).toBe(true);
  });
});

describe("a caller", () => {
  it("owns sandboxes under its name; those of the user have none", () => {
    expect([ownerOf(localUser), ownerOf(ofToken)]).toEqual([null, "jwt:ada"]);
  });

  it("needs one of the scopes that are asked for, unless it is admin", () => {
    expect(() => refuseUnlessScoped(ofToken, ["read", "run"])).not.toThrow();
    expect(() => refuseUnlessScoped(localUser, ["read"])).not.toThrow();
    expect(() => refuseUnlessScoped(ofToken, ["read", "sandboxes"])).toThrow("this needs the scope read or sandboxes");
    expect(() => refuseUnlessScoped({ ...ofToken, scopes: [] }, ["run"])).toThrow("this needs the scope run");
  });
});
