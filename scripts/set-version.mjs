// Writes one version into every package, SDK and description: node scripts/set-version.mjs 0.2.0
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { writeVersion } from "./release/version-places.mjs";

const [version = ""] = process.argv.slice(2);
// npm, Cargo and Python agree on these.
if (!/^\d+\.\d+\.\d+$/.test(version)) {
  process.stderr.write("set-version: name a version of three numbers, as in: node scripts/set-version.mjs 0.2.0\n");
  process.exit(2);
}
writeVersion(dirname(dirname(fileURLToPath(import.meta.url))), version);
