/** One sandbox for all commands of a query. */
import { AgentKernel, type Session, TransportError } from "agentkernel";
import { SandboxUnavailableError } from "./errors.js";
import type { SandboxOptions, SandboxResult, SandboxRunner } from "./types.js";

const TIMEOUT_MS = 120_000;
/** If this program dies, the sandbox goes after this. */
const TTL = "24h";

export async function openRunner(options: SandboxOptions = {}): Promise<SandboxRunner> {
  const client = new AgentKernel();
  const { dir = null, workspace, image, profile, network, env, resources } = options;
  try {
    const shown = dir === null ? {} : { dir, ...(workspace === undefined ? {} : { workspace }) };
    const session = await client.session({ ...shown, image, profile, network, env, resources, ttl: TTL });
    return new SessionRunner(client, session, options);
  } catch (cause) {
    await client.close();
    const why = cause instanceof Error ? cause.message : String(cause);
    const next = cause instanceof TransportError ? "; is there a daemon? agentkernel daemon start starts one" : "";
    throw new SandboxUnavailableError(`no sandbox could be made: ${why}${next}`, { cause });
  }
}

class SessionRunner implements SandboxRunner {
  readonly name: string;
  readonly #client: AgentKernel;
  readonly #session: Session;
  readonly #timeoutMs: number;
  readonly #program: string;

  constructor(
    client: AgentKernel,
    session: Session,
    { timeoutMs = TIMEOUT_MS, program = "agentkernel" }: SandboxOptions,
  ) {
    this.#client = client;
    this.#session = session;
    this.#timeoutMs = timeoutMs;
    this.#program = program;
    this.name = session.name;
  }

  async run(command: string, options: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<SandboxResult> {
    const timeoutMs = Math.min(options.timeoutMs ?? this.#timeoutMs, this.#timeoutMs);
    const result = await this.#session.exec(["sh", "-c", command], { timeoutMs, signal: options.signal });
    const { stdout, stderr, exitCode, timedOut, durationMs } = result;
    return { stdout, stderr, exitCode, timedOut, durationMs, sandbox: this.name };
  }

  async readFile(path: string): Promise<string> {
    return new TextDecoder().decode(await this.#session.files.read(path));
  }

  async writeFile(path: string, text: string): Promise<void> {
    await this.#session.files.write(path, text);
  }

  hostCommand(command: string): string {
    return [this.#program, "exec", this.name, "sh", "-c", command].map(quoted).join(" ");
  }

  async close(): Promise<void> {
    try {
      await this.#session.close();
    } finally {
      await this.#client.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** One word for a shell, whatever is in it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
