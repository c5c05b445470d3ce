/** What a release is made of: the same bytes again, and lists that tell the truth about them. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { version } from "../../src/core/version.js";
import { copyOfCheckout, makeRelease, releaseOf } from "../support/releases.js";
import { repository } from "../support/repository.js";

const run = promisify(execFile);
const digest = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");
const digests = (folder: string) =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, digest(join(folder, name))]));

describe("a release", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await releaseOf();
  }, 240_000);

  it("has the same bytes when it is made again: elsewhere, in another time zone and language, with a new bundle", async () => {
    const checkout = copyOfCheckout();
    await run(process.execPath, ["scripts/build.mjs"], { cwd: checkout });
    const again = await makeRelease(checkout, { env: { TZ: "Pacific/Chatham", LANG: "C", LC_ALL: "C" } });
    expect(digests(again)).toEqual(digests(folder));
  }, 240_000);

  it("has native programs that are the same bytes when they are compiled elsewhere", async () => {
    const checkout = copyOfCheckout();
    const target = join(checkout, "elsewhere");
    const words = [join(checkout, "scripts/compile-native.sh"), target, "--bin", "ak-client"];
    const { stdout } = await run("sh", words, { maxBuffer: 1 << 26 });
    const compiled = join(stdout.trim().split("\n").at(-1) ?? "", "ak-client");
    expect(digest(compiled)).toBe(digest(join(repository, "dist/native/ak-client")));
  }, 400_000);

  it("names no folder of the machine that it was made on", async () => {
    for (const name of readdirSync(join(repository, "dist/native")).filter((name) => name.startsWith("ak-"))) {
      const text = readFileSync(join(repository, "dist/native", name), "latin1");
      expect(text.includes(`${process.env.HOME}/.cargo`), name).toBe(false);
      expect(text.includes(`${repository}/`), name).toBe(false);
    }
  });

  it("has checksums of everything in it", async () => {
    await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: folder });
    const listed = readFileSync(join(folder, "SHA256SUMS"), "utf8").matchAll(/^[0-9a-f]{64} {2}(.+)$/gm);
    const names = [...listed].map(([, name]) => name);
    expect([...names, "SHA256SUMS", "SHA256SUMS.sig"].sort()).toEqual(readdirSync(folder).sort());
  });

  it("says where it comes from, over the digests of its files", () => {
    const statement = JSON.parse(readFileSync(join(folder, "provenance.json"), "utf8")) as {
      readonly predicateType: string;
      readonly subject: readonly { readonly name: string; readonly digest: { readonly sha256: string } }[];
      readonly predicate: { readonly buildDefinition: { readonly externalParameters: object } };
    };
    expect(statement.predicateType).toBe("https://slsa.dev/provenance/v1");
    const own = new Set(["provenance.json", "SHA256SUMS", "SHA256SUMS.sig"]);
    const expected = Object.entries(digests(folder)).filter(([name]) => !own.has(name));
    expect(Object.fromEntries(statement.subject.map(({ name, digest: { sha256 } }) => [name, sha256]))).toEqual(
      Object.fromEntries(expected),
    );
    expect(statement.predicate.buildDefinition.externalParameters).toMatchObject({ version });
  });

  it("lists the packages and crates that are in it, and none that only tests use", () => {
    const { components, bomFormat } = JSON.parse(readFileSync(join(folder, "sbom.cdx.json"), "utf8")) as {
      readonly bomFormat: string;
      readonly components: readonly { readonly purl: string; readonly hashes?: readonly object[] }[];
    };
    expect(bomFormat).toBe("CycloneDX");
    const purls = components.map(({ purl }) => purl.replace(/@[^@]+$/, ""));
    expect(purls).toEqual(
      expect.arrayContaining(["pkg:npm/ws", "pkg:npm/yaml", "pkg:cargo/rustix", "pkg:cargo/landlock"]),
    );
    for (const absent of ["pkg:npm/vitest", "pkg:npm/esbuild", "pkg:cargo/proptest", "pkg:cargo/tempfile"])
      expect(purls).not.toContain(absent);
    expect(new Set(components.map(({ purl }) => purl)).size).toBe(components.length);
    expect(components.filter(({ purl, hashes }) => purl.startsWith("pkg:cargo/") && hashes === undefined)).toEqual([]);
  });

  it("has a formula for Homebrew with the digest of the archive", () => {
    const archive = `agentkernel-${version}-linux-${process.arch}.tar.gz`;
    const formula = readFileSync(join(folder, "agentkernel.rb"), "utf8");
    expect(formula).toContain(`sha256 "${digest(join(folder, archive))}"`);
    expect(formula).toContain("service do");
    expect(formula).not.toMatch(/@[A-Z]+@/);
  });
});
