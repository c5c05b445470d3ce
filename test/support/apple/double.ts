/** Puts the double of Apple's `container` into a folder, to be first in PATH. */
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../repository.js";

const IMAGE = "example/alpine:3";

export class AppleDouble {
  readonly image = IMAGE;
  readonly program: string;
  readonly folder: string;
  readonly guestFolder: string;
  readonly #state: string;

  constructor(folder: string, native: string | null = null) {
    this.folder = join(folder, "bin");
    this.guestFolder = join(folder, "guest");
    this.program = join(this.folder, "container");
    this.#state = join(folder, "state");
    for (const each of [this.folder, this.guestFolder, this.#state]) mkdirSync(each, { recursive: true });
    const script = join(repository, "test", "support", "apple", "container.mjs");
    const words = [process.execPath, script, this.#state].map((word) => `'${word}'`).join(" ");
    writeFileSync(this.program, `#!/bin/sh\nexec ${words} "$@"\n`);
    chmodSync(this.program, 0o755);
    for (const name of ["ak-entry", "ak-guest"]) {
      if (native === null) writeFileSync(join(this.guestFolder, name), "");
      else copyFileSync(join(native, name), join(this.guestFolder, name));
    }
    this.set({});
  }

  /** How it is from now on. */
  set(facts: Readonly<{ isRunning?: boolean; version?: string; knowsNone?: boolean }>): void {
    const config = { Env: ["GREETING=hello"], Cmd: ["/bin/sh"], WorkingDir: "/", User: "" };
    const variant = { platform: { os: "linux", architecture: "arm64" }, config: { architecture: "arm64", config } };
    const images = [{ name: IMAGE, index: { digest: `sha256:${"a".repeat(64)}` }, variants: [variant] }];
    const usual = { isRunning: true, version: "1.2.0", knowsNone: true, registry: ["example/pulled:1"], images };
    writeFileSync(join(this.#state, "facts.json"), JSON.stringify({ ...usual, ...facts }));
  }

  /** A container that is not of our making, or that somebody left. */
  addContainer(id: string, labels: Readonly<Record<string, string>>): void {
    const folder = join(this.#state, "containers");
    mkdirSync(folder, { recursive: true });
    const container = { status: "stopped", networks: [], configuration: { id, labels, networks: [] } };
    writeFileSync(join(folder, `${id}.json`), JSON.stringify(container));
  }
}
