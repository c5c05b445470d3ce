/** A kept sandbox under test: its state folder, whoever owns it now, and a session with its guest. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BootSpec, PersistentBackend, PersistentSandbox } from "../../../src/core/backend.js";
import type { EgressPort } from "../../../src/core/egress.js";
import { GuestSession, KEPT_WINDOW_BYTES, type KeptExec, type ResumeAt } from "../../../src/guest/index.js";
import { Command, type Ran } from "./command.js";
import { basicEnv, type CommandOptions } from "./subject.js";

export class Owned {
  readonly sandbox: PersistentSandbox;
  session: GuestSession;

  private constructor(sandbox: PersistentSandbox, session: GuestSession) {
    this.sandbox = sandbox;
    this.session = session;
  }

  static async of(sandbox: PersistentSandbox, egress?: EgressPort): Promise<Owned> {
    return new Owned(sandbox, await sessionWith(sandbox, egress));
  }

  async reconnect(): Promise<void> {
    this.session = await sessionWith(this.sandbox);
  }

  async start(argv: readonly string[], options: CommandOptions & { readonly key?: string } = {}): Promise<Command> {
    const { cwd = "/", env = basicEnv, stdin, tty, key } = options;
    const exec = await this.session.exec({
      argv,
      cwd,
      env,
      stdin: stdin !== undefined,
      ...(tty === undefined ? {} : { tty }),
      ...(key === undefined ? {} : { key }),
    });
    return new Command(exec, tty ? [1] : [1, 2]);
  }

  async sh(script: string, options: CommandOptions & { readonly key?: string } = {}): Promise<Ran> {
    return await (await this.start(["sh", "-c", script], options)).ran();
  }

  async kept(key: string): Promise<KeptExec> {
    const { execs } = await this.session.ready;
    const found = execs.find((exec) => exec.key === key);
    if (found === undefined) throw new Error(`no kept command ${key} among ${execs.map((exec) => exec.key).join()}`);
    return found;
  }

  async attach(key: string, at: ResumeAt = {}): Promise<Command> {
    const kept = await this.kept(key);
    return new Command(await this.session.attach(kept, at), kept.tty ? [1] : [1, 2]);
  }
}

async function sessionWith(sandbox: PersistentSandbox, egress?: EgressPort): Promise<GuestSession> {
  const options = { windowBytes: KEPT_WINDOW_BYTES, ...(egress ? { egress } : {}) };
  const session = new GuestSession(await sandbox.connect(), options);
  await session.ready;
  return session;
}

/** A state folder for as long as `use` takes; afterwards nothing runs in it and it is gone. */
export async function inStateFolder<T>(kept: PersistentBackend, folder: string, use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } finally {
    const left = await kept.adopt(folder);
    await left?.kill();
    await kept.remove(folder);
  }
}

export async function startPersistent(
  kept: PersistentBackend,
  spec: BootSpec,
  folder: string,
  egress?: EgressPort,
): Promise<Owned> {
  return await Owned.of(await kept.start(spec, folder), egress);
}

export async function adoptPersistent(kept: PersistentBackend, folder: string): Promise<Owned> {
  const sandbox = await kept.adopt(folder);
  if (sandbox === null) throw new Error("nothing runs there");
  return await Owned.of(sandbox);
}

/** The process that owns the sandbox on the host. */
export function supervisorOf(folder: string): number {
  return Number(readFileSync(join(folder, "lock"), "utf8"));
}

/** Process 1 of the sandbox, as the host sees it. */
export function guestOf(folder: string): number {
  return Number(JSON.parse(readFileSync(join(folder, "state.json"), "utf8")).guest);
}
