// From what and with what a release was made: an in-toto statement with a SLSA provenance, over the digests of its files.
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { digestOf } from "./sums.mjs";

/** `folder` has the finished files; the statement is about all of them but itself and the list of checksums. */
export function provenance({ root, folder, version, commit, platforms }) {
  const subject = readdirSync(folder)
    .filter((name) => !name.startsWith("SHA256SUMS") && name !== "provenance.json")
    .sort()
    .map((name) => ({ name, digest: { sha256: digestOf(join(folder, name)) } }));
  const sources = ["package-lock.json", "native/Cargo.lock"].map((name) => ({
    name,
    digest: { sha256: digestOf(join(root, name)) },
  }));
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject,
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "urn:agentkernel:release:1",
        externalParameters: { version, platforms },
        internalParameters: tools(),
        resolvedDependencies: [
          ...(commit === null ? [] : [{ name: "source", digest: { gitCommit: commit } }]),
          ...sources,
        ],
      },
      runDetails: { builder: { id: process.env.AGENTKERNEL_BUILDER ?? "urn:agentkernel:builder:unnamed" } },
    },
  };
  return `${JSON.stringify(statement, null, 2)}\n`;
}

function tools() {
  const [rustc = ""] = execFileSync("rustc", ["--version"], { encoding: "utf8" }).split("\n");
  return { node: process.versions.node, rustc };
}
