// Makes the roots that tests use of Debian's packages (test/support/debian-root.ts), and fetches what builds the site of
// the documentation, before worlds without a network begin. What cannot be made here is said again, and is a failure, where a test needs it.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createVitest } from "vitest/node";
import { npmTool } from "./npm-tool.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const vitest = await createVitest("test", { watch: false, project: ["e2e"], reporters: [{}] });
const support = join(root, "test", "support");
const roots = await vitest.import(join(support, "debian-root.ts"));
const machines = await vitest.import(join(support, "machine-places.ts"));
let failed = false;
for (const make of [machines.contractFolder, roots.smallestRoot, () => npmTool(join(root, "scripts", "docs-site"))]) {
  try {
    make();
  } catch (error) {
    failed = true;
    process.stderr.write(`${error.message}\n`);
  }
}
await vitest.close();
process.exit(failed ? 1 : 0);
