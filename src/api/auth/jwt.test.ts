import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { JwtVerifier } from "./jwt.js";
import { smallCeiling } from "./key-ceiling.js";

const folder = mkdtempSync(join(tmpdir(), "agentkernel-jwt-"));
const jwks = join(folder, "jwks.json");
const issuer = "https://issuer.example";
const audience = "agentkernel";
let privateKey: CryptoKey;
let anotherKey: CryptoKey;
let publicKeys: string;

beforeAll(async () => {
  const pair = await generateKeyPair("ES256");
  privateKey = pair.privateKey;
  anotherKey = (await generateKeyPair("ES256")).privateKey;
  publicKeys = JSON.stringify({ keys: [{ ...(await exportJWK(pair.publicKey)), kid: "one", alg: "ES256" }] });
  writeFileSync(jwks, publicKeys);
});
afterAll(() => rmSync(folder, { recursive: true }));

const seconds = (fromNow = 0) => Math.floor(Date.now() / 1000) + fromNow;
const usual = () => ({ sub: "ada", iss: issuer, aud: audience, exp: seconds(600) });

const signed = (claims: Readonly<Record<string, unknown>>, key = privateKey, kid = "one") =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg: "ES256", kid }).sign(key);
const verified = async (claims: Readonly<Record<string, unknown>>) =>
  await new JwtVerifier({ jwks, issuer, audience }).verify(await signed(claims));

describe("a token that the issuer signed for us", () => {
  it("is its subject, with no right that it does not name", async () => {
    const exp = seconds(600);
    expect(await verified({ ...usual(), exp })).toEqual({
      id: "jwt:ada",
      scopes: [],
      isTrusted: false,
      sandboxes: null,
      quotas: { concurrency: null, requestsPerMinute: null, cpuSecondsPerHour: null, sandboxes: null },
      ceiling: smallCeiling,
      validUntilMs: (exp + 30) * 1000,
    });
  });

  it.each([
    ["scope", "run agentkernel:read something admins"],
    ["scopes", ["run", "agentkernel:read", "xagentkernel:admin", 7]],
  ])("names rights in %s, with or without our name in front", async (claim, value) => {
    expect((await verified({ ...usual(), [claim]: value }))?.scopes).toEqual(["run", "read"]);
  });

  it("has no right by a claim of another form", async () => {
    for (const claims of [{ scope: ["admin"] }, { scopes: "admin" }, { scope: { admin: true } }])
      expect((await verified({ ...usual(), ...claims }))?.scopes).toEqual([]);
  });

  it("acts as the user with the right admin alone", async () => {
    expect(await verified({ ...usual(), scope: "admin" })).toMatchObject({ isTrusted: true, ceiling: null });
    expect(await verified({ ...usual(), scope: "run read sandboxes metrics" })).toMatchObject({
      isTrusted: false,
      ceiling: smallCeiling,
    });
  });

  it("has the ceiling that it states, and is not valid where that is none", async () => {
    const within = await verified({ ...usual(), agentkernel_ceiling: { network: "on" } });
    expect(within?.ceiling).toEqual({ ...smallCeiling, network: "on" });
    for (const wrong of [null, 7, "on", [], { network: "everything" }, { unknown: 1 }])
      expect(await verified({ ...usual(), agentkernel_ceiling: wrong })).toBeNull();
  });

  it("may be for several, and is valid while clocks may differ", async () => {
    expect(await verified({ ...usual(), aud: ["other", audience] })).not.toBeNull();
    expect(await verified({ ...usual(), exp: seconds(-20) })).not.toBeNull();
    expect(await verified({ ...usual(), nbf: seconds(20) })).not.toBeNull();
  });
});

describe("a token is refused", () => {
  it.each([
    ["of another issuer", { iss: "https://other.example" }],
    ["of no issuer", { iss: undefined }],
    ["for another", { aud: "other" }],
    ["for nobody", { aud: undefined }],
    ["without a subject", { sub: undefined }],
    ["without an end", { exp: undefined }],
    ["that is over", { exp: seconds(-40) }],
    ["that is not valid yet", { nbf: seconds(60) }],
  ])("%s", async (_, claims) => expect(await verified({ ...usual(), ...claims })).toBeNull());

  it("that another key signed, also under the name of ours", async () => {
    const verifier = new JwtVerifier({ jwks, issuer, audience });
    expect(await verifier.verify(await signed(usual(), anotherKey))).toBeNull();
    expect(await verifier.verify(await signed(usual(), anotherKey, "two"))).toBeNull();
  });

  it("that nobody signed, that a secret signed, and that was changed", async () => {
    const verifier = new JwtVerifier({ jwks, issuer, audience });
    const unsigned = new UnsecuredJWT(usual()).encode();
    const bySecret = await new SignJWT(usual())
      .setProtectedHeader({ alg: "HS256", kid: "one" })
      .sign(new TextEncoder().encode(publicKeys));
    const [head, , signature] = (await signed(usual())).split(".");
    const changed = Buffer.from(JSON.stringify({ ...usual(), scope: "admin" })).toString("base64url");
    for (const token of [
      unsigned,
      bySecret,
      `${head}.${changed}.${signature}`,
      `${head}..${signature}`,
      "a.b.c",
      "..",
      "",
    ])
      expect(await verifier.verify(token)).toBeNull();
  });
});

describe("the keys", () => {
  it("are of a file that has them", () => {
    const broken = join(folder, "broken.json");
    writeFileSync(broken, "{");
    expect(() => new JwtVerifier({ jwks: broken, issuer, audience })).toThrow(
      /^--jwks: .*broken.json is no set of keys/,
    );
    writeFileSync(broken, '{"keys": 7}');
    expect(() => new JwtVerifier({ jwks: broken, issuer, audience })).toThrow(/is no set of keys/);
    expect(() => new JwtVerifier({ jwks: join(folder, "none"), issuer, audience })).toThrow(/ENOENT/);
  });

  it("come over HTTPS, or from this machine", () => {
    const refused = /--jwks: keys are only taken over HTTPS, or from this machine/;
    for (const place of ["http://keys.example/jwks", "http://localhost.evil.example/", "http://127.0.0.2/jwks"])
      expect(() => new JwtVerifier({ jwks: place, issuer, audience })).toThrow(refused);
    for (const place of ["https://keys.example/jwks", "http://localhost/jwks", "http://127.0.0.1:1/", "http://[::1]/"])
      expect(() => new JwtVerifier({ jwks: place, issuer, audience })).not.toThrow();
  });

  it("are asked for, and a server that has none is no reason to call a token wrong", async () => {
    let answer = { status: 200, text: publicKeys };
    const server = createServer((_, response) => response.writeHead(answer.status).end(answer.text)).listen(
      0,
      "127.0.0.1",
    );
    await new Promise((resolve) => server.once("listening", resolve));
    const place = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
    try {
      const token = await signed(usual());
      expect((await new JwtVerifier({ jwks: place, issuer, audience }).verify(token))?.id).toBe("jwt:ada");
      for (const other of [
        { status: 200, text: "none" },
        { status: 200, text: '{"keys": 7}' },
        { status: 500, text: publicKeys },
      ]) {
        answer = other;
        await expect(new JwtVerifier({ jwks: place, issuer, audience }).verify(token)).rejects.toMatchObject({
          code: "internal",
          message: "the keys that tokens are checked by could not be had",
        });
      }
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
