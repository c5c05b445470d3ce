import { execFileSync } from "node:child_process";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Authority } from "./authority.js";
import { authorityCertificate, serverCertificate } from "./certificate.js";

const HOURS = 3_600_000;
const HOST = "api.example.com";
const LONG = `${"a".repeat(60)}.${"b".repeat(60)}.example`;
const newKeys = () => generateKeyPairSync("ec", { namedCurve: "P-256" });

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentkernel-authority-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Asks openssl to verify a chain, with its strictest rules. */
function verify(authority: string, server: string, host: string): string {
  const [ca, leaf] = [join(folder, "ca.pem"), join(folder, "leaf.pem")];
  writeFileSync(ca, authority);
  writeFileSync(leaf, server);
  const asked = ["verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", host, "-CAfile", ca, leaf];
  try {
    return execFileSync("openssl", asked, { encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    return String((error as { stderr?: string }).stderr);
  }
}

describe("certificates", () => {
  const validity = { from: new Date(Date.now() - HOURS), until: new Date(Date.now() + HOURS) };
  const issuer = { name: "test authority", keys: newKeys() };
  const authority = authorityCertificate(issuer, [HOST, LONG], validity);
  const server = (host: string) => serverCertificate(issuer, host, newKeys(), validity);

  it.each([HOST, LONG])("for the bound host %s stand openssl's strict check", (host) => {
    expect(verify(authority, server(host), host)).toMatch(/: OK\n$/);
  });

  it("for any other host do not, even where our own key signed them", () => {
    expect(verify(authority, server("other.example.com"), "other.example.com")).toMatch(/permitted subtree violation/);
    expect(verify(authority, server(HOST), "other.example.com")).toMatch(/hostname mismatch/i);
  });

  it("of a server sign for nobody, and those of an authority are no servers", () => {
    const keys = newKeys();
    const middle = { name: HOST, keys };
    const below = serverCertificate(middle, HOST, newKeys(), validity);
    expect(verify(`${authority}${serverCertificate(issuer, HOST, keys, validity)}`, below, HOST)).not.toMatch(/OK\n$/);
    expect(new X509Certificate(authority).checkHost(HOST)).toBeUndefined();
  });

  it("say what they are for", () => {
    const text = execFileSync("openssl", ["x509", "-noout", "-text"], { input: authority, encoding: "utf8" });
    expect(text).toMatch(/Basic Constraints: critical\s+CA:TRUE, pathlen:0/);
    expect(text).toMatch(/Key Usage: critical\s+Certificate Sign\s/);
    expect(text).toMatch(/Name Constraints: critical\s+Permitted:\s+DNS:api\.example\.com/);
    const leaf = execFileSync("openssl", ["x509", "-noout", "-text"], { input: server(HOST), encoding: "utf8" });
    expect(leaf).toMatch(/CA:FALSE/);
    expect(leaf).toMatch(/TLS Web Server Authentication/);
  });

  it("live beyond the year in which the format of dates changes", () => {
    const late = { from: new Date("2049-12-31T00:00:00Z"), until: new Date("2050-01-01T00:00:00Z") };
    const read = new X509Certificate(authorityCertificate(issuer, [HOST], late));
    expect([new Date(read.validFrom).getTime(), new Date(read.validTo).getTime()]).toEqual([
      late.from.getTime(),
      late.until.getTime(),
    ]);
  });
});

describe("the authority of a sandbox", () => {
  it("is its own, for its hosts, and lasts some weeks", () => {
    const [one, two] = [new Authority([HOST]), new Authority([HOST])];
    const read = new X509Certificate(one.certificatePem);
    expect(read.subject).not.toBe(new X509Certificate(two.certificatePem).subject);
    expect(read.ca).toBe(true);
    const lasts = new Date(read.validTo).getTime() - Date.now();
    expect(lasts / (24 * HOURS)).toBeLessThanOrEqual(30);
  });

  it("speaks for bound hosts only, keeps what it made, and makes it anew in time", () => {
    let now = Date.now();
    const authority = new Authority([HOST], () => now);
    const first = authority.contextFor(HOST);
    expect(authority.contextFor(HOST)).toBe(first);
    now += 13 * HOURS;
    expect(authority.contextFor(HOST)).not.toBe(first);
    expect(() => authority.contextFor("other.example.com")).toThrow(/no secret is bound/);
    expect(() => new Authority([])).toThrow(/no host/);
  });
});
