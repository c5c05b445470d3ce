/** An ordinary user with an empty home folder, who installs by the install script. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Actor, actors } from "./actors.js";
import type { Ended } from "./only-loopback.js";
import { releaseOf } from "./releases.js";
import { testSettings } from "./test-settings.js";

export const ordinaryUser: Actor = actors.find(({ name }) => name === "user") ?? noOne();

function noOne(): never {
  throw new Error("there is always an ordinary user");
}

/** Its name is one that shells would read in another way. */
export class Installer {
  readonly home = ordinaryUser.folder("it's an installer's $HOME");
  readonly own = join(this.home, ".local/bin/agentkernel");
  readonly #path: string;

  constructor(path = "/usr/local/bin:/usr/bin:/bin") {
    this.#path = path;
  }

  async run(argv: readonly string[], stdin = "", env: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const [program = "", ...words] = argv;
    const { uid, gid } = ordinaryUser;
    const identity = process.getuid?.() === 0 ? { uid, gid } : {};
    const child = spawn(program, words, {
      ...identity,
      cwd: this.home,
      env: { PATH: this.#path, HOME: this.home, LANG: "C.UTF-8", ...testSettings, ...env },
      timeout: 120_000,
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += String(chunk);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += String(chunk);
    });
    // A script that ends early does not read the rest.
    child.stdin.on("error", () => {});
    child.stdin.end(stdin);
    const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
    return { status, stdout, stderr };
  }

  /** By the script of the current release, which comes through a pipe. */
  async install(from: string, ...words: readonly string[]): Promise<Ended> {
    const script = readFileSync(join(await releaseOf(), "install.sh"), "utf8");
    return await this.run(["/bin/sh", "-s", "--", "--from", from, ...words], script);
  }

  files(): readonly string[] {
    return readdirSync(this.home, { recursive: true, encoding: "utf8" }).sort();
  }
}
