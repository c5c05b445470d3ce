/** The sandboxes that belong to one connection: they end with it, whoever ends it. */
import { AgentKernelError } from "../core/errors.js";
import type { RuntimeHost } from "../runtime/open-backend.js";
import type { RunRequest } from "../runtime/run-request.js";
import { SessionSandbox } from "../runtime/session-sandbox.js";

/** One client does not fill the machine. */
const MOST = 32;

export class SessionSandboxes {
  readonly #sandboxes = new Map<string, SessionSandbox>();
  /** Names of those that are being made. */
  readonly #coming = new Map<string, Promise<unknown>>();
  readonly #onDied: (name: string) => void;
  #isClosed = false;

  /** `onDied`: one has ended that nobody had asked to. */
  constructor(onDied: (name: string) => void) {
    this.#onDied = onDied;
  }

  get(name: string): SessionSandbox | null {
    return this.#sandboxes.get(name) ?? null;
  }

  list(): readonly (readonly [string, SessionSandbox])[] {
    return [...this.#sandboxes];
  }

  async create(
    name: string,
    request: RunRequest,
    options: { readonly host: RuntimeHost; readonly signal: AbortSignal },
  ): Promise<SessionSandbox> {
    if (this.#isClosed) throw new AgentKernelError("conflict", "the connection has ended");
    if (this.#sandboxes.has(name) || this.#coming.has(name)) {
      throw new AgentKernelError("conflict", `there is a sandbox ${name} already`, {
        hint: "choose another name, or remove it with sandbox_remove",
        details: { field: "name" },
      });
    }
    if (this.#sandboxes.size + this.#coming.size >= MOST) {
      throw new AgentKernelError("resource_exhausted", `a connection has at most ${MOST} sandboxes of its own`, {
        hint: "remove one with sandbox_remove",
      });
    }
    const opening = SessionSandbox.open(request, options);
    this.#coming.set(name, opening);
    try {
      const sandbox = await opening;
      this.#sandboxes.set(name, sandbox);
      void sandbox.over.then(() => this.#forget(name, sandbox));
      return sandbox;
    } finally {
      this.#coming.delete(name);
    }
  }

  /** Ends it; what its policy says is carried over to the project. */
  async remove(name: string): Promise<Awaited<ReturnType<SessionSandbox["close"]>>> {
    const sandbox = this.#sandboxes.get(name);
    if (sandbox === undefined) throw new AgentKernelError("not_found", `there is no sandbox ${name}`);
    this.#sandboxes.delete(name);
    return await sandbox.close();
  }

  /** Settles when nothing of any is left. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#coming.values());
    const all = [...this.#sandboxes.values()];
    this.#sandboxes.clear();
    await Promise.allSettled(all.map((sandbox) => sandbox.close()));
  }

  #forget(name: string, sandbox: SessionSandbox): void {
    if (this.#sandboxes.get(name) !== sandbox) return;
    this.#sandboxes.delete(name);
    this.#onDied(name);
  }
}
