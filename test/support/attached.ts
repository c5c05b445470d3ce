/** A sandbox that stays, in a daemon of an actor's, and people at terminals who attach to it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Actor } from "./actors.js";
import { clientOf, onlyThroughDaemon, TestDaemon } from "./daemon.js";
import { type CliResult, runCli } from "./run-cli.js";
import { PROMPT, Tmux, type TmuxOptions } from "./tmux.js";

interface ShownTerminal {
  readonly id: string;
  readonly command: readonly string[];
  readonly columns: number;
  readonly rows: number;
  readonly viewers: number;
}

export class Attached {
  readonly client: Actor;
  readonly name: string;
  daemon: TestDaemon;
  readonly #people: Tmux[] = [];

  private constructor(client: Actor, name: string, daemon: TestDaemon) {
    this.client = client;
    this.name = name;
    this.daemon = daemon;
  }

  /** Everything of it is gone when this settles. */
  static async use(actor: Actor, work: (world: Attached) => Promise<void>): Promise<void> {
    const client = onlyThroughDaemon(clientOf(actor));
    const world = new Attached(client, "box", new TestDaemon(client));
    try {
      await world.daemon.ready;
      const made = await world.cli("create", "--no-network", "--dir", actor.folder("project"), world.name);
      expect(made).toMatchObject({ status: 0, stdout: "box\n" });
      expect((await world.cli("start", world.name)).status).toBe(0);
      await work(world);
    } finally {
      for (const person of world.#people) person.close();
      await world.cli("remove", "--force", world.name);
      await world.daemon.stop();
    }
  }

  cli(...words: readonly string[]): Promise<CliResult> {
    return runCli(this.client, words);
  }

  /** Somebody at a terminal, who has not attached yet. */
  async person(options: TmuxOptions = {}): Promise<Person> {
    const tmux = new Tmux(this.client, options);
    this.#people.push(tmux);
    await tmux.until(new RegExp(`^${PROMPT.trim()}`));
    return new Person(tmux, this.name);
  }

  async terminals(): Promise<readonly ShownTerminal[]> {
    const { stdout } = await this.cli("info", "--json", this.name);
    return (JSON.parse(stdout) as { data: { terminals: readonly ShownTerminal[] } }).data.terminals;
  }

  /** The next daemon, which finds what the last one had. */
  async nextDaemon(): Promise<void> {
    this.daemon = new TestDaemon(this.client);
    await this.daemon.ready;
  }
}

/** What the prompt of the shell inside is set to. */
const INSIDE = "inside> ";

export class Person {
  readonly tmux: Tmux;
  readonly #name: string;
  /** So that the end of one is not taken for that of another. */
  #times = 0;

  constructor(tmux: Tmux, name: string) {
    this.tmux = tmux;
    this.#name = name;
  }

  attach(...words: readonly string[]): void {
    this.type(`attach ${words.join(" ")} ${this.#name}`);
  }

  /** Words of agentkernel's. How the terminal is before and after is noted. */
  type(words: string): void {
    this.#times++;
    // What an earlier one left on the screen must not be taken for what this one shows.
    this.tmux.wipe();
    this.tmux.type(
      `clear; stty -g > before; agentkernel ${words}; status=$?; stty -g > after; echo end${this.#times}=$status\n`,
    );
  }

  /** In a shell whose prompt can be told from the one outside. */
  async attachToShell(...words: readonly string[]): Promise<void> {
    this.attach("--env", `PS1='${INSIDE}'`, ...words, "--shell", "sh");
    await this.tmux.until(/^inside>/m);
  }

  /** Its exit status, when the terminal is the user's own again. */
  async left(): Promise<number> {
    const [, status] = await this.tmux.until(new RegExp(`^end${this.#times}=(\\d+)\\n${PROMPT.trim()}`, "m"));
    expect(readFileSync(join(this.tmux.folder, "after"), "utf8")).toBe(
      readFileSync(join(this.tmux.folder, "before"), "utf8"),
    );
    expect(this.tmux.isOtherScreen).toBe(false);
    return Number(status);
  }

  detach(): void {
    this.tmux.key("C-p", "C-q");
  }
}
