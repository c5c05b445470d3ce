/** A process that owns a kept sandbox (test/support/kept-owner.ts), to be killed by a test. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { buildSync } from "esbuild";
import type { OwnerOrder } from "./kept-owner.js";
import { repository } from "./repository.js";
import { testFolder } from "./test-folder.js";

let program: string | undefined;

/** Bundled once for each test process: a plain Node cannot read the sources. */
function ownerProgram(): string {
  if (program !== undefined) return program;
  const outfile = join(testFolder(), `kept-owner-${process.pid}.cjs`);
  buildSync({
    entryPoints: [join(repository, "test/support/kept-owner.ts")],
    bundle: true,
    platform: "node",
    format: "cjs",
    define: { "import.meta.url": '""' },
    outfile,
    logLevel: "warning",
  });
  program = outfile;
  return outfile;
}

export class OwnerProcess {
  readonly child: ChildProcess;
  readonly exited: Promise<void>;
  #output = "";
  readonly #looking = new Set<() => void>();

  constructor(order: OwnerOrder) {
    this.child = spawn(process.execPath, [ownerProgram(), JSON.stringify(order)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.exited = new Promise((resolve) => this.child.once("exit", () => resolve()));
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#output += text;
      for (const look of this.#looking) look();
    });
  }

  /** What it has passed on of the command's output. */
  get output(): string {
    return this.#output;
  }

  until(pattern: RegExp): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!pattern.test(this.#output)) return;
        this.#looking.delete(look);
        resolve();
      };
      this.#looking.add(look);
      look();
      void this.exited.then(() => reject(new Error(`the owner ended without ${pattern}: ${this.#output}`)));
    });
  }

  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }
}
