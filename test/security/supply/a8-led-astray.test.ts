/** A registry that leads its client to hosts of its own choice. All of it happens in a network of the test's own. */
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { hostPlatform } from "../../../src/images/index.js";
import { actors } from "../../support/actors.js";
import { repository } from "../../support/repository.js";
import { tlsIdentity } from "../../support/tls-identity.js";
import type { Attempt, NamespaceJob } from "../support/registry-namespace.js";

const addresses = ["45.66.0.1", "45.66.0.2", "10.66.0.1", "10.66.0.2", "169.254.169.254"];
const login = `Basic ${Buffer.from("user:s3cret").toString("base64")}`;

describe("A8 a registry leads its client elsewhere", () => {
  let attempts: Attempt[] = [];
  beforeAll(async () => {
    const [actor] = actors;
    if (actor === undefined) throw new Error("there is an actor");
    const folder = actor.folder("astray");
    const names = [...addresses, "127.0.0.1"].map((address) => `IP:${address}`);
    const { certPath } = tlsIdentity(folder, [...names, "DNS:blobs.registry.test"]);
    mkdirSync(join(folder, "bin"));
    const driver = join(folder, "bin", "driver.mjs");
    await build({
      entryPoints: [join(repository, "test/security/support/registry-namespace.ts")],
      outfile: driver,
      bundle: true,
      platform: "node",
      format: "esm",
      logLevel: "error",
    });
    const hosts = join(folder, "hosts");
    writeFileSync(hosts, "127.0.0.1 localhost\n10.66.0.1 blobs.registry.test\n");
    const job: NamespaceJob = {
      cli: [process.execPath, join(actor.dist, "agentkernel.js")],
      folder,
      keyPath: join(folder, "tls.key"),
      certPath,
      architecture: hostPlatform().architecture,
    };
    const lines = [
      "set -e",
      "ip link set lo up",
      ...addresses.map((address) => `ip addr add ${address}/32 dev lo`),
      `mount --bind '${hosts}' /etc/hosts`,
      'exec "$@"',
    ];
    const shell = ["sh", "-c", lines.join("\n"), "sh", process.execPath, driver, JSON.stringify(job)];
    const child = spawn("unshare", ["--map-root-user", "--net", "--mount", ...shell], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    await new Promise((resolve) => child.once("close", resolve));
    attempts = JSON.parse(output);
  }, 120_000);

  function attempt(name: string): Attempt {
    const found = attempts.find((one) => one.name === name);
    if (found === undefined) throw new Error(`${name} was not tried`);
    return found;
  }

  it.each([
    "blobs at a private address",
    "blobs at a name of a private address",
    "blobs at the metadata service",
    "blobs on loopback",
    "tokens at a private address",
    "tokens at a private address, without a login",
    "private to private",
    "private to metadata, allowed",
    "public to private, allowed",
  ])("%s: a trusting client goes there, ours never does", (name) => {
    const { trusting, ours, status, stderr } = attempt(name);
    expect(trusting.length).toBeGreaterThan(0);
    expect({ ours, status }).toEqual({ ours: [], status: 125 });
    expect(stderr).toMatch(/an address that is not public|to be sent to 10\.66\.0\.1:\d+, another party/);
  });

  it("tokens at another party: a trusting client hands over the login, ours sends nothing", () => {
    const { trusting, ours, status, stderr } = attempt("tokens at another party");
    expect(trusting).toContain(login);
    expect({ ours, status }).toEqual({ ours: [], status: 125 });
    expect(stderr).toMatch(/wants your login to be sent to 45\.66\.0\.2:\d+, another party/);
  });

  it("blobs at another party: they are fetched, and the login stays home", () => {
    const { trusting, ours, status } = attempt("blobs at another party");
    expect(trusting).toContain(login);
    expect(new Set(ours)).toEqual(new Set([null]));
    expect(status).toBe(0);
  });

  it("private to private works where the user allows it, without the login", () => {
    const { ours, status } = attempt("private to private, allowed");
    expect(new Set(ours)).toEqual(new Set([null]));
    expect(status).toBe(0);
  });

  it("says no secret in any of its messages", () => {
    expect(attempts.map(({ stderr }) => stderr).join("")).not.toMatch(/s3cret|dXNlcjpzM2NyZXQ/);
  });
});
