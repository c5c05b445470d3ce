/** The double of Firecracker (main.rs) as the monitor of the microvm backend, in its real jail, with a real guest. */
import { execFile } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { microvmBackend } from "../../../src/backends/microvm/index.js";
import { Templates } from "../../../src/backends/microvm/templates.js";
import type { Backend } from "../../../src/core/backend.js";
import type { Actor } from "../actors.js";
import { linuxProgramsOf } from "../linux-backend.js";
import { repository } from "../repository.js";

const PROGRAM = "/opt/firecracker";

/** What the kernel of a machine begins with, as far as anybody looks at it here. */
const KERNEL = "\x7fELF, and nothing that would run";

/** Built with Rust's own tests, so there is little left to do. */
export async function builtDouble(): Promise<string> {
  const triple = `${process.arch === "arm64" ? "aarch64" : "x86_64"}-unknown-linux-gnu`;
  const target = join(repository, ".build", "target");
  const where = ["--target", triple, "--target-dir", target];
  const words = ["build", ...where, "--package", "ak-vmm", "--example", "firecracker-double"];
  await promisify(execFile)("cargo", words, { cwd: join(repository, "native"), maxBuffer: 16 << 20 });
  return join(target, triple, "debug", "examples", "firecracker-double");
}

export class DoubleMachines {
  readonly backend: Backend;
  readonly #root: string;
  readonly #templates: Templates;

  /** `wishes`: what goes wrong (mischief.rs). */
  constructor(actor: Actor, double: string, { wishes = {}, isCold }: DoubleOptions) {
    const folder = actor.folder("firecracker");
    this.#root = join(folder, "monitor");
    mkdirSync(join(this.#root, "opt"), { recursive: true });
    this.#put(double, PROGRAM);
    this.#put(join(actor.dist, "native", "ak-guest"), "/opt/ak-guest");
    const lines = Object.entries({ GUEST: "/opt/ak-guest", ...wishes }).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(join(this.#root, `${PROGRAM}.wishes`), lines.join(""));
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text, { mode: 0o644 });
      return join(folder, name);
    };
    const kernel = file("kernel", KERNEL);
    const initramfs = file("initramfs", "initramfs");
    const root = { path: file("root", "root"), digest: "root" };
    const programs = linuxProgramsOf(actor);
    const vmmBinary = join(actor.dist, "native", "ak-vmm");
    this.#templates = new Templates({
      programs,
      vmmBinary,
      folder: join(folder, "templates"),
      // Its disk is no image of anything.
      verifyRoot: async () => {},
    });
    this.backend = microvmBackend({
      programs,
      vmmBinary,
      // No device of the host's is used by a double.
      monitor: async () => ({
        kind: "firecracker",
        program: PROGRAM,
        root: this.#root,
        accelerator: "tcg",
        digest: "double",
      }),
      files: {
        kernel: async () => ({ kernel, initramfs, acpi: false, commandLine: "quiet", hasFuse: true, digest: "kernel" }),
        root: async () => root,
      },
      templates: async () => this.#templates,
      folder: join(folder, "state"),
      isCold,
    });
  }

  close(): void {
    this.#templates.close();
  }

  #put(from: string, to: string): void {
    copyFileSync(from, join(this.#root, to));
    chmodSync(join(this.#root, to), 0o755);
  }
}

export interface DoubleOptions {
  readonly wishes?: Readonly<Record<string, string>>;
  readonly isCold: boolean;
}
