/**
 * What the benchmarks run: a copy of the checkout as it is now, so that nothing is built anew while times are taken,
 * and a temporary folder for everything else, which is removed at the end.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundled } from "./bundled.mjs";
import { compileStopwatch, Stopwatch } from "./stopwatch.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const COPIED = ["bin", "dist", "native", "package.json", "package-lock.json", "scripts", "spec", "src"];

export async function stage() {
  execFileSync("sh", [join(root, "scripts", "setup.sh"), "build", "--quiet"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const folder = mkdtempSync(join(tmpdir(), "agentkernel-bench-"));
  // Sandboxes of root's that run on gVisor have other ids, and must reach the programs in it.
  chmodSync(folder, 0o711);
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const checkout = join(folder, "checkout");
  for (const name of COPIED) {
    cpSync(join(root, name), join(checkout, name), {
      recursive: true,
      preserveTimestamps: true,
      filter: (path) => basename(path) !== "target",
    });
  }
  // Later than the folders that were made just now, whose times are finer than a Date.
  const builtAt = new Date(Date.now() + 1000);
  utimesSync(join(checkout, "dist", ".built"), builtAt, builtAt);
  const emptyProject = join(folder, "empty-project");
  mkdirSync(emptyProject);
  const compiled = compileStopwatch(folder);
  // A daemon that happens to be up must not serve what is measured without one.
  const stopwatch = new Stopwatch(compiled, { AGENTKERNEL_DAEMON: "off" });
  const jailBinary = join(checkout, "dist", "native", "ak-jail");
  const makeSpec = await specMaker(folder, checkout);
  return {
    folder,
    emptyProject,
    stopwatch,
    /** Another one, whose programs find a daemon in this folder. */
    stopwatchWithDaemon: (runtimeFolder, variables = {}) =>
      new Stopwatch(compiled, { AGENTKERNEL_DAEMON: "", ...variables, XDG_RUNTIME_DIR: runtimeFolder }),
    jail: [jailBinary, "run"],
    cli: join(checkout, "bin", "agentkernel"),
    entry: join(checkout, "dist", "agentkernel.js"),
    /**
     * The file with the spec of a default sandbox that shows `projectDir`, or nothing, in the host's image or in layers;
     * without a network unless it is asked for.
     */
    jailSpecFile(projectDir, { layers = null, egress = "off" } = {}) {
      const root = layers === null ? "host" : "layers";
      const file = join(folder, `spec-${root}-${egress}-${projectDir === null ? "none" : basename(projectDir)}.json`);
      const image = layers === null ? { kind: "host" } : { kind: "layers", layers };
      writeFileSync(file, `${JSON.stringify(makeSpec(projectDir, image, egress))}\n`);
      return file;
    },
  };
}

/** The product's own way from a policy to a spec, so that a figure is about what a user's sandbox is made of. */
async function specMaker(folder, checkout) {
  const { jailSpec, resolve } = await bundled(checkout, join(folder, "spec.mjs"), {
    "src/backends/linux/jail-spec.ts": "jailSpec",
    "src/policy/resolve.ts": "resolve",
  });
  const paths = { guestBinary: join(checkout, "dist", "native", "ak-guest"), journalDir: join(folder, "journal") };
  return (projectDir, image, egress) => {
    const fields = { "net.egress": egress, ...(projectDir === null ? { "fs.workspace.mode": "none" } : {}) };
    const { policy } = resolve({ flags: [{ origin: "bench", fields }] });
    const boot = { id: "bench", hostname: "bench", policy, image, projectDir, homeDir: null };
    return jailSpec(boot, paths);
  };
}
