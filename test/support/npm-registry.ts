/**
 * A registry of npm's on loopback that knows no other one, with what a test publishes to it: our own small one, or with
 * AGENTKERNEL_TEST_REGISTRY=verdaccio that one, which takes a minute to install.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Actor } from "./actors.js";
import type { OnlyLoopback } from "./only-loopback.js";
import { repository } from "./repository.js";

const run = promisify(execFile);
/** Later ones want a newer Node than the oldest that we support. */
const VERSION = "6.5.0";
const PORT = 4873;

const settings = `storage: ./storage
uplinks: {}
packages:
  "**":
    access: $all
    publish: $all
web: { enable: false }
log: { type: stdout, format: json, level: warn }
max_body_size: 64mb
`;

export class NpmRegistry {
  static readonly url = `http://127.0.0.1:${PORT}/`;
  readonly #child: ChildProcess;
  readonly #place: OnlyLoopback;
  readonly #actor: Actor;
  readonly #home: string;

  private constructor(child: ChildProcess, place: OnlyLoopback, actor: Actor, home: string) {
    this.#child = child;
    this.#place = place;
    this.#actor = actor;
    this.#home = home;
  }

  static async start(place: OnlyLoopback, actor: Actor): Promise<NpmRegistry> {
    const home = actor.folder("registry");
    writeFileSync(join(home, "config.yaml"), settings);
    // npm publishes only with a token; this registry takes any.
    writeFileSync(join(home, ".npmrc"), `registry=${NpmRegistry.url}\n//127.0.0.1:${PORT}/:_authToken=none\n`);
    const argv = [process.execPath, ...(await serverWords(home))];
    const [first = "", ...words] = place.words(argv, actor);
    const child = spawn(first, words, { cwd: home, env: { PATH: "/usr/bin:/bin", HOME: home }, stdio: "ignore" });
    const registry = new NpmRegistry(child, place, actor, home);
    await registry.#answers();
    return registry;
  }

  async publish(path: string): Promise<void> {
    const result = await this.#npm(["publish", path, "--ignore-scripts", "--provenance=false", "--tag", "latest"]);
    if (result.status !== 0) throw new Error(`npm publish ${path}: ${result.stderr}`);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = new Promise<void>((resolve) => this.#child.once("close", () => resolve()));
    this.#child.kill("SIGTERM");
    await ended;
  }

  async #answers(): Promise<void> {
    for (const until = Date.now() + 60_000; Date.now() < until; ) {
      if ((await this.#npm(["ping", "--fetch-retries=0"])).status === 0) return;
      if (this.#child.exitCode !== null) break;
    }
    throw new Error("the registry did not come up");
  }

  #npm(words: readonly string[]) {
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: this.#home };
    return this.#place.run(["npm", ...words], { actor: this.#actor, env, cwd: this.#home });
  }
}

async function serverWords(home: string): Promise<readonly string[]> {
  const { AGENTKERNEL_TEST_REGISTRY: wanted } = process.env;
  if (wanted !== "verdaccio") return [join(repository, "test/support/npm-registry-server.mjs"), String(PORT)];
  return [await installed(), "--config", join(home, "config.yaml"), "--listen", `127.0.0.1:${PORT}`];
}

/** Where verdaccio's program is; installed once, beside the build, without running any script of its packages. */
async function installed(): Promise<string> {
  const folder = join(repository, ".build", `verdaccio-${VERSION}`);
  const program = join(folder, "node_modules/verdaccio/bin/verdaccio");
  if (existsSync(program)) return program;
  const staging = `${folder}.${process.pid}`;
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true });
  // It asks for a package by a tag, which not every mirror of npm knows.
  const wanted = { private: true, dependencies: { verdaccio: VERSION }, overrides: { "node-fetch": "2.7.0" } };
  writeFileSync(join(staging, "package.json"), JSON.stringify(wanted));
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  await run("npm", ["install", ...quiet], { cwd: staging, timeout: 300_000 });
  rmSync(folder, { recursive: true, force: true });
  renameSync(staging, folder);
  return program;
}
