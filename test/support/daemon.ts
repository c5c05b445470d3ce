/**
 * A daemon of an actor's, and the actor as one who calls through it. The client of such a caller cannot fall back on the
 * command line that needs no daemon, so a test that passes has gone through one.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { type Actor, actors, environmentOf } from "./actors.js";

interface Caller extends Actor {
  readonly title: string;
  /** The process that owns the sandboxes, where it is not the command line itself. */
  daemonPid(): number | null;
}

export class TestDaemon {
  readonly child: ChildProcess;
  readonly ready: Promise<void>;
  readonly exited: Promise<number | null>;
  stderr = "";

  constructor(actor: Actor, words: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
    this.child = spawn(process.execPath, [join(actor.dist, "agentkernel.js"), "daemon", "run", ...words], {
      ...identity,
      cwd: actor.home,
      env: { PATH: process.env.PATH ?? "/usr/bin:/bin", ...environmentOf(actor), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child.stderr?.on("data", (chunk: Buffer) => {
      this.stderr += String(chunk);
    });
    this.exited = new Promise((resolve) => this.child.once("close", (status) => resolve(status)));
    this.ready = new Promise((resolve, reject) => {
      this.child.stdout?.once("data", () => resolve());
      void this.exited.then((status) => reject(new Error(`the daemon ended with ${status}: ${this.stderr}`)));
    });
    this.ready.catch(() => {});
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error("the daemon did not start");
    return this.child.pid;
  }

  async stop(): Promise<number | null> {
    this.child.kill("SIGTERM");
    return await this.exited;
  }
}

/** The actor, with a runtime folder of its own, who calls the client. */
export function clientOf(actor: Actor): Actor {
  const variables = { ...actor.variables, XDG_RUNTIME_DIR: actor.folder("runtime") };
  return { ...actor, program: [join(actor.dist, "native", "ak-client")], variables };
}

/** Where there is no daemon, the client of this actor fails instead of doing it alone. */
export function onlyThroughDaemon(client: Actor): Actor {
  return { ...client, variables: { ...client.variables, AGENTKERNEL_NODE: "/nonexistent/node" } };
}

const daemons = new Map<Caller, TestDaemon>();

const alone = actors.map((actor): Caller => ({ ...actor, title: `as ${actor.name}`, daemonPid: () => null }));
const served = actors.map((actor): Caller => {
  const caller: Caller = {
    ...onlyThroughDaemon(clientOf(actor)),
    title: `as ${actor.name}, through a daemon`,
    daemonPid: () => daemons.get(caller)?.pid ?? null,
  };
  return caller;
});

/** Everybody who calls agentkernel, with a daemon and without. */
export const callers: readonly Caller[] = [...alone, ...served];

/** One without a daemon and one with, each another user where there are two: for what another suite shows of every user. */
export const callersOfBothWays: readonly Caller[] = [...alone.slice(0, 1), ...served.slice(-1)];

/** For a `describe`: the daemon that the caller calls through, if it does. */
export function usesDaemon(caller: Caller): void {
  if (!served.includes(caller)) return;
  beforeAll(async () => {
    const daemon = new TestDaemon(caller);
    daemons.set(caller, daemon);
    await daemon.ready;
  });
  afterAll(async () => {
    await daemons.get(caller)?.stop();
  });
}
