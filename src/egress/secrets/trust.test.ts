import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { trustedRoots } from "./roots.js";
import { trustEnvironment, trustFiles } from "./trust.js";

const OURS = "-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----\n";
const THEIRS = "-----BEGIN CERTIFICATE-----\ntheirs\n-----END CERTIFICATE-----";

describe("trust inside", () => {
  it("adds ours to what the image trusts, each certificate on lines of its own", () => {
    expect(trustFiles(OURS, THEIRS)).toEqual({ bundle: `${THEIRS}\n${OURS}`, own: OURS });
    expect(trustFiles(OURS, null)).toEqual({ bundle: OURS, own: OURS });
  });

  it("gives those who replace their list the bundle, and those who add to it ours alone", () => {
    const environment = trustEnvironment({ bundle: "/b.pem", own: "/o.pem" });
    expect(environment).toMatchObject({ SSL_CERT_FILE: "/b.pem", CURL_CA_BUNDLE: "/b.pem", GIT_SSL_CAINFO: "/b.pem" });
    expect(environment).toMatchObject({ NODE_EXTRA_CA_CERTS: "/o.pem", DENO_CERT: "/o.pem" });
  });
});

describe("trust outside", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "agentkernel-roots-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("is in what the user names, and in what is added to it", async () => {
    const [chosen, extra] = [join(folder, "chosen"), join(folder, "extra")];
    writeFileSync(chosen, THEIRS);
    writeFileSync(extra, OURS);
    expect(await trustedRoots({ SSL_CERT_FILE: chosen, NODE_EXTRA_CA_CERTS: extra })).toEqual([THEIRS, OURS]);
  });

  it("is in somebody where nothing is named, and a file that is not there is an error, not less trust", async () => {
    expect((await trustedRoots({})).join("")).toContain("BEGIN CERTIFICATE");
    await expect(trustedRoots({ NODE_EXTRA_CA_CERTS: join(folder, "none") })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "NODE_EXTRA_CA_CERTS names a file that cannot be read",
    });
  });
});
