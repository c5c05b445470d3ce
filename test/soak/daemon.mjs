/** The daemon that is soaked: the real one, in folders of its own, with its memory and descriptors in view. */
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { bundled } from "./bundled.mjs";

const settle = join(dirname(fileURLToPath(import.meta.url)), "settle.cjs");
const run = promisify(execFile);

/** How long the daemon is left alone before it is looked at. */
const IDLE_MS = 2000;
const GIVE_UP_MS = 30_000;

export class SoakDaemon {
  #child;
  #config;

  constructor({ entry, cli, folder }) {
    this.folder = mkdtempSync(join(folder, "soak-"));
    const inFolder = (name) => join(this.folder, name);
    for (const name of ["runtime", "home", "config/agentkernel"]) {
      mkdirSync(inFolder(name), { recursive: true, mode: 0o700 });
    }
    this.#config = inFolder("config/agentkernel/config.toml");
    this.cli = cli;
    this.entry = entry;
    this.socket = inFolder("runtime/agentkernel/daemon.sock");
    /** What its callers have: with these nobody can do without it. */
    this.variables = {
      HOME: inFolder("home"),
      XDG_RUNTIME_DIR: inFolder("runtime"),
      XDG_STATE_HOME: inFolder("state"),
      XDG_CONFIG_HOME: inFolder("config"),
      AGENTKERNEL_IMAGE: "host",
      AGENTKERNEL_PULL: "never",
      AGENTKERNEL_DAEMON: "",
    };
    this.env = { PATH: process.env.PATH, LANG: "C.UTF-8", ...this.variables };
    this.clientEnv = { ...this.env, AGENTKERNEL_NODE: "/nonexistent/node" };
  }

  async start() {
    // As `daemon start` does it (src/daemon/background.ts), but for a way to ask it about itself.
    const { HEAP_WORDS, withHeapVariables } = await bundled("src/daemon/heap-settings.ts", this.folder);
    const words = [...HEAP_WORDS, "--expose-gc", "--require", settle, this.entry, "daemon", "run"];
    this.#child = spawn(process.execPath, words, {
      cwd: this.folder,
      env: withHeapVariables(this.env),
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    this.exited = new Promise((resolve) => this.#child.once("close", (status) => resolve(status)));
    await Promise.race([
      new Promise((resolve) => this.#child.stdout.once("data", resolve)),
      this.exited.then((status) => Promise.reject(new Error(`the daemon ended with ${status}`))),
    ]);
  }

  get pid() {
    return this.#child.pid;
  }

  async stop() {
    this.#child.kill("SIGTERM");
    return await this.exited;
  }

  /** However the soak went: it and all sandboxes are gone afterwards. */
  async end() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    await run(process.execPath, [this.entry, "daemon", "stop", "--all"], { env: this.env });
    await this.exited;
  }

  async status() {
    const { stdout } = await run(process.execPath, [this.entry, "daemon", "status", "--json"], { env: this.env });
    return JSON.parse(stdout).data;
  }

  /** As it is with no work and an empty pool, so that two readings differ by what the time between them left. */
  async reading(project) {
    writeFileSync(this.#config, "[daemon]\nmin_warm = 0\nmax_warm = 0\n");
    await run(this.cli, ["run", "true"], { cwd: project, env: this.clientEnv });
    await this.#until(({ pool, at_work: atWork }) => pool.warm + pool.in_use + atWork === 0);
    await setTimeout(IDLE_MS);
    const memory = await this.#settled();
    const reading = { ...memory, descriptors: this.#descriptors(), files: this.#files() };
    writeFileSync(this.#config, "");
    return reading;
  }

  async #until(isSo) {
    for (const deadline = Date.now() + GIVE_UP_MS; ; ) {
      const status = await this.status();
      if (isSo(status)) return;
      if (Date.now() > deadline) throw new Error(`the daemon does not come to rest: ${JSON.stringify(status)}`);
    }
  }

  #settled() {
    return new Promise((resolve, reject) => {
      this.#child.once("message", resolve);
      this.#child.send("settle", (error) => error && reject(error));
    });
  }

  /** What its descriptors lead to, without numbers, which are never the same twice. */
  #descriptors() {
    const targets = [];
    for (const name of readdirSync(`/proc/${this.pid}/fd`)) {
      try {
        targets.push(readlinkSync(`/proc/${this.pid}/fd/${name}`).replaceAll(/\d+/g, "N"));
      } catch (error) {
        // Closed since it was listed.
        if (error.code !== "ENOENT") throw error;
      }
    }
    return targets.sort();
  }

  /** Everything in its folders but the audit log, which is meant to grow. */
  #files() {
    const found = readdirSync(this.folder, { recursive: true, withFileTypes: true });
    return found
      .map((entry) => relative(this.folder, join(entry.parentPath ?? entry.path, entry.name)))
      .filter((path) => !path.startsWith("state/agentkernel/audit/") && path !== "config/agentkernel/config.toml")
      .sort();
  }
}
