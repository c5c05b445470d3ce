// The Homebrew formula of a release, with the address and the digest of each archive.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { digestOf } from "./sums.mjs";

const architectures = { "linux-x64": "on_intel", "linux-arm64": "on_arm" };

export function formula({ root, folder, version, from, homepage, archives }) {
  const blocks = archives.map(({ platform, name }) =>
    [
      `  ${architectures[platform]} do`,
      `    url "${from}/${name}"`,
      `    sha256 "${digestOf(join(folder, name))}"`,
      "  end",
    ].join("\n"),
  );
  return readFileSync(join(root, "packaging/homebrew/agentkernel.rb"), "utf8")
    .replace("@VERSION@", version)
    .replace("@HOMEPAGE@", homepage)
    .replace("@ARCHIVES@", blocks.join("\n"));
}
