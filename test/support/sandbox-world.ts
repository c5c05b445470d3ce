/** An actor with a daemon and a state folder of its own, for tests about sandboxes that stay. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Actor } from "./actors.js";
import { expectComplaint } from "./complaint.js";
import { clientOf, onlyThroughDaemon, TestDaemon } from "./daemon.js";
import { killNow } from "./process-tree.js";
import { type CliOptions, type CliResult, runCli } from "./run-cli.js";
import { WatchedCli } from "./watched-cli.js";

interface ListedSandbox {
  readonly name: string;
  readonly state: string;
  readonly running_execs: number;
}

interface ShownSandbox extends ListedSandbox {
  readonly ports: readonly { readonly host_port: number; readonly guest_port: number }[];
  readonly layers: readonly { readonly name: string; readonly state: string }[];
  readonly notes: readonly string[];
  readonly execs: readonly {
    readonly id: string;
    readonly state: string;
    readonly exit_code: number | null;
    readonly signal: number | null;
    readonly timed_out: boolean;
    readonly detached: boolean;
  }[];
}

interface SandboxWorldOptions {
  readonly stateHome?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export class SandboxWorld {
  readonly client: Actor;
  readonly state: string;
  readonly #env: Readonly<Record<string, string>>;
  #daemon: TestDaemon | null = null;

  constructor(actor: Actor, { stateHome = actor.ownFolder("state"), env = {} }: SandboxWorldOptions = {}) {
    const client = onlyThroughDaemon(clientOf(actor));
    this.client = { ...client, variables: { ...client.variables, XDG_STATE_HOME: stateHome } };
    this.state = stateHome;
    this.#env = env;
  }

  get daemon(): TestDaemon {
    if (this.#daemon === null) throw new Error("no daemon was started");
    return this.#daemon;
  }

  async up(): Promise<void> {
    this.#daemon = new TestDaemon(this.client, [], this.#env);
    await this.#daemon.ready;
  }

  /** kill -9. */
  async crash(): Promise<void> {
    const { pid, exited } = this.daemon;
    killNow(pid);
    await exited;
  }

  async restart(): Promise<void> {
    await this.crash();
    await this.up();
  }

  ak(words: readonly string[], options: CliOptions = {}): Promise<CliResult> {
    return runCli(this.client, words, options);
  }

  /** What must work; its stdout. */
  async ok(words: readonly string[], options: CliOptions = {}): Promise<string> {
    const { status, stdout, stderr } = await this.ak(words, options);
    expect({ status, stderr: status === 0 ? "" : stderr }, words.join(" ")).toEqual({ status: 0, stderr: "" });
    return stdout;
  }

  /** What must not; why, and what to do instead. */
  async refuses(words: readonly string[], sentence: RegExp, hint: RegExp): Promise<void> {
    const { status, stdout, stderr } = await this.ak(words);
    expect({ status, stdout }, stderr).toEqual({ status: 125, stdout: "" });
    expectComplaint(stderr, sentence, hint);
  }

  watch(words: readonly string[], options: CliOptions = {}): WatchedCli {
    return new WatchedCli(this.client, words, options);
  }

  /** A sandbox without a network or a project, started. */
  async started(name: string, options: readonly string[] = []): Promise<void> {
    await this.ok(["create", "--no-network", "--workspace", "none", ...options, name]);
    await this.ok(["start", name]);
  }

  async list(): Promise<readonly ListedSandbox[]> {
    const { data } = JSON.parse(await this.ok(["list", "--json"])) as { data: ListedSandbox[] };
    return data;
  }

  async states(): Promise<Readonly<Record<string, string>>> {
    return Object.fromEntries((await this.list()).map(({ name, state }) => [name, state]));
  }

  async info(name: string): Promise<ShownSandbox> {
    return (JSON.parse(await this.ok(["info", "--json", name])) as { data: ShownSandbox }).data;
  }

  folder(name: string): string {
    return join(this.state, "agentkernel", "sandboxes", name);
  }

  supervisor(name: string): number {
    return Number(readFileSync(join(this.folder(name), "jail", "lock"), "utf8"));
  }

  guest(name: string): number {
    return Number(JSON.parse(readFileSync(join(this.folder(name), "jail", "state.json"), "utf8")).guest);
  }

  /** Everything is removed, whatever state it is in; the daemon ends. */
  async down(): Promise<void> {
    if (this.#daemon === null) return;
    const names = (await this.list()).map(({ name }) => name);
    if (names.length > 0) await this.ok(["remove", "--force", ...names]);
    await this.#daemon.stop();
    this.#daemon = null;
  }
}

export async function inWorld(
  actor: Actor,
  use: (world: SandboxWorld) => Promise<void>,
  options: SandboxWorldOptions = {},
): Promise<void> {
  const world = new SandboxWorld(actor, options);
  await world.up();
  try {
    await use(world);
  } finally {
    await world.down();
  }
}
