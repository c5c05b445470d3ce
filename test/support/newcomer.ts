/** Somebody who has never heard of agentkernel: an empty home folder, and of all programs only Node and npm. */
import { execFileSync } from "node:child_process";
import { readdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Actor } from "./actors.js";
import { NpmRegistry } from "./npm-registry.js";
import type { Ended, OnlyLoopback } from "./only-loopback.js";
import { testSettings } from "./test-settings.js";

export class Newcomer {
  readonly home: string;
  readonly #place: OnlyLoopback;
  readonly #actor: Actor;
  readonly #programs: string;

  constructor(place: OnlyLoopback, actor: Actor) {
    this.#place = place;
    this.#actor = actor;
    this.home = actor.folder("newcomer");
    this.#programs = actor.folder("programs");
    symlinkSync(process.execPath, join(this.#programs, "node"));
    const npm = execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim();
    symlinkSync(realpathSync(npm), join(this.#programs, "npm"));
    writeFileSync(join(this.home, ".npmrc"), `registry=${NpmRegistry.url}\nprefix=${this.home}/global\n`);
  }

  /** PATH as the user has it after adding npm's own folder. */
  async run(argv: readonly string[], cwd = this.home): Promise<Ended> {
    const env = {
      PATH: `${this.home}/global/bin:${this.#programs}`,
      HOME: this.home,
      LANG: "C.UTF-8",
      npm_config_update_notifier: "false",
      ...testSettings,
    };
    const [program = "", ...words] = argv;
    // As a shell of the user's would find it.
    const found = ["/bin/sh", "-c", 'exec "$0" "$@"', program, ...words];
    return await this.#place.run(found, { actor: this.#actor, env, cwd });
  }

  folder(): string {
    return this.#actor.folder("newcomers-project");
  }

  /** Everything below the home folder, but for what npm keeps for itself. */
  files(): readonly string[] {
    return readdirSync(this.home, { recursive: true, encoding: "utf8" })
      .filter((path) => path !== ".npm" && !path.startsWith(".npm/") && path !== ".npmrc")
      .sort();
  }
}
