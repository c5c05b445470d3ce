/** One sandbox under test, booted through the Backend interface and spoken to through the guest session. */
import { randomBytes } from "node:crypto";
import type { Backend, BootedSandbox, Layer, SandboxEnd } from "../../../src/core/backend.js";
import type { EgressPort } from "../../../src/core/egress.js";
import type { TerminalSize } from "../../../src/core/exec.js";
import { type GuestFiles, GuestSession } from "../../../src/guest/index.js";
import type { PolicyFields } from "../../../src/policy/fields.js";
import { resolve } from "../../../src/policy/resolve.js";
import { Command, type Ran } from "./command.js";

export interface BootOptions {
  readonly fields?: PolicyFields;
  /** Shown as /workspace; without it the workspace is `none`. */
  readonly projectDir?: string;
  readonly homeDir?: string;
  /** What the sandbox asks about the world outside. */
  readonly egress?: EgressPort;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: string;
  /** Text: written and ended. true: left open for the test to write. Without it there is no stdin. */
  readonly stdin?: string | Buffer | true;
  readonly tty?: TerminalSize;
}

export const basicEnv = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/home/sandbox" };

export function bootSpec({ fields = {}, projectDir, homeDir }: BootOptions) {
  const id = `contract-${randomBytes(4).toString("hex")}`;
  const base: PolicyFields = {
    "net.egress": "off",
    ...(projectDir === undefined ? { "fs.workspace.mode": "none" } : {}),
  };
  const { policy } = resolve({
    flags: [
      { origin: "the contract", fields: base },
      { origin: "the test", fields },
    ],
  });
  const image = { kind: "host" } as const;
  return { id, hostname: id, policy, image, projectDir: projectDir ?? null, homeDir: homeDir ?? null };
}

export class Subject {
  readonly layers: readonly Layer[];
  readonly ended: Promise<SandboxEnd>;
  readonly session: GuestSession;
  readonly #booted: BootedSandbox;

  private constructor(booted: BootedSandbox, egress: EgressPort | undefined) {
    this.#booted = booted;
    this.layers = booted.layers;
    this.ended = booted.ended;
    this.session = new GuestSession(booted.stream, {
      ...(egress ? { egress } : {}),
      ...(booted.serveView ? { serveView: booted.serveView } : {}),
    });
    this.session.ready.catch(() => {});
  }

  static async boot(backend: Backend, options: BootOptions = {}): Promise<Subject> {
    return new Subject(await backend.boot(bootSpec(options)), options.egress);
  }

  get files(): GuestFiles {
    return this.session.files;
  }

  async start(argv: readonly string[], options: CommandOptions = {}): Promise<Command> {
    const { cwd = "/", env = basicEnv, user, stdin, tty } = options;
    const exec = await this.session.exec({
      argv,
      cwd,
      env,
      stdin: stdin !== undefined,
      ...(user === undefined ? {} : { user }),
      ...(tty === undefined ? {} : { tty }),
    });
    const command = new Command(exec, tty ? [1] : [1, 2]);
    if (typeof stdin === "string" || Buffer.isBuffer(stdin)) {
      command.type(stdin);
      exec.endStdin();
    }
    return command;
  }

  async run(argv: readonly string[], options: CommandOptions = {}): Promise<Ran> {
    return await (await this.start(argv, options)).ran();
  }

  sh(script: string, options: CommandOptions = {}): Promise<Ran> {
    return this.run(["sh", "-c", script], options);
  }

  async finish(): Promise<SandboxEnd> {
    const end = this.#booted.finish();
    this.session.destroy();
    return await end;
  }

  async kill(): Promise<SandboxEnd> {
    const end = this.#booted.kill();
    this.session.destroy();
    return await end;
  }
}
