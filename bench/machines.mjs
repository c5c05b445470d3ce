/**
 * Virtual machines of the benchmark's own: the product's backend in this process, with all that it keeps in a folder of
 * its own, and an image of one static program. By software emulation, which works everywhere; so figures compare.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundled } from "./bundled.mjs";
import { CannotRun } from "./cannot-run.mjs";
import { pssMiB } from "./proportional-memory.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** The one that was set up for tests, where no other is named. */
const KERNEL = process.env.AGENTKERNEL_KERNEL ?? join(root, ".build", "kernels", "debian");

export async function withMachines(context, work) {
  if (!existsSync(join(KERNEL, "kernel.json"))) throw new CannotRun(`there is no kernel at ${KERNEL}`);
  const machines = new Machines(await backendOf(context), mkdtempSync(join(context.folder, "machines-")));
  // What is made once is not part of any figure: the image's disk, and the machine that copies are made of.
  await machines.use(machines.restored);
  try {
    return await work(machines);
  } finally {
    machines.templates.close();
  }
}

class Machines {
  kernel = JSON.parse(readFileSync(join(KERNEL, "kernel.json"), "utf8")).name;
  #parts;
  #image;

  constructor(parts, folder) {
    const { openMicrovm, openTemplates, qemuPath } = parts;
    this.#parts = parts;
    const env = {
      PATH: process.env.PATH,
      XDG_CACHE_HOME: join(folder, "cache"),
      XDG_STATE_HOME: join(folder, "state"),
      AGENTKERNEL_KERNEL: KERNEL,
    };
    const host = { env, homeDir: folder, resident: null };
    this.templates = openTemplates(host);
    const monitor = { kind: "qemu", program: qemuPath(env), accelerator: "tcg" };
    const resident = { templates: async () => this.templates };
    /** From a saved machine, and from the kernel on. */
    this.restored = withoutPool(openMicrovm({ ...host, resident }, monitor));
    this.booted = withoutPool(openMicrovm({ ...host, resident }, { ...monitor, isCold: true }));
    const image = join(folder, "root");
    mkdirSync(join(image, "bin"), { recursive: true });
    copyFileSync("/bin/busybox", join(image, "bin", "busybox"));
    for (const name of ["true", "sleep"]) symlinkSync("busybox", join(image, "bin", name));
    this.#image = { kind: "layers", layers: [image] };
  }

  /** A fresh machine whose first command has ended. */
  async start(backend) {
    const { TemporarySandbox, temporaryId, resolve } = this.#parts;
    const fields = { "fs.workspace.mode": "none", "net.egress": "off" };
    const { policy } = resolve({ flags: [{ origin: "bench", fields }] });
    const id = temporaryId();
    const spec = { id, hostname: id, policy, image: this.#image, projectDir: null, homeDir: null };
    const command = { argv: ["true"], cwd: "/", env: { PATH: "/bin" }, stdin: false };
    const sandbox = await TemporarySandbox.start(backend, spec, undefined, undefined, command);
    const exec = await sandbox.first;
    for (const stream of [1, 2]) exec.onOutput(stream, { write: (_, done) => done(), end: () => {} });
    const { code } = await exec.exited;
    if (code !== 0) throw new Error(`true ended with status ${code} in a machine`);
    return sandbox;
  }

  /** From nothing to the end of its first command; and how long the machine's own end takes then. */
  async use(backend) {
    const startedAt = performance.now();
    const sandbox = await this.start(backend);
    const wallMs = performance.now() - startedAt;
    await sandbox.finish();
    return { wallMs, cpuMs: 0, endMs: performance.now() - startedAt - wallMs };
  }
}

/** Jails are forked from this process: no launcher, and nothing that is built ahead. */
const withoutPool = ({ shapeOf: _, ...backend }) => backend;

async function backendOf({ entry }) {
  // Where a program of ours looks for the native ones.
  const outfile = join(dirname(entry), "bench-machines.mjs");
  return await bundled(dirname(dirname(entry)), outfile, {
    "src/runtime/open-microvm.ts": "openMicrovm, openTemplates",
    "src/backends/microvm/monitor.ts": "qemuPath",
    "src/runtime/temporary-sandbox.ts": "TemporarySandbox, temporaryId",
    "src/policy/resolve.ts": "resolve",
  });
}

/** Proportional memory of all processes that this one has started, and of theirs. */
export function startedMiB(pid = process.pid) {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) => childrenOf(pid, task));
  return children.filter(Boolean).reduce((sum, child) => sum + pssIfThere(child) + startedMiB(child), 0);
}

function childrenOf(pid, task) {
  return readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ");
}

/** Nothing where it is ending: it has no memory any more. */
function pssIfThere(pid) {
  try {
    return pssMiB(pid);
  } catch (error) {
    if (error.code === "ESRCH" || error.code === "ENOENT") return 0;
    throw error;
  }
}
