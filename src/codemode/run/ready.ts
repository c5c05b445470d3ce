/**
 * A sandbox that is made ready before there is a program for it: Node waits in it for a path, and the compiler for a
 * text, so that neither has to be started while a model waits. Nothing of any program was in it, and it serves one.
 * There is at most one for a connection; one that nobody asked for in a while ends.
 */
import { freemem } from "node:os";
import type { Duplex } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { isAgentKernelError } from "../../core/errors.js";
import type { McpHost } from "../../mcp/host.js";
import { hostEnvFor } from "../../mcp/reach.js";
import type { RunRequest } from "../../runtime/run-request.js";
import { type HeldExec, SessionSandbox } from "../../runtime/session-sandbox.js";
import { makeHome, writeFiles } from "./home.js";
import { HOME, TYPESCRIPT_AT } from "./inside.js";
import { waiting } from "./program.js";

export interface ReadySandbox {
  readonly sandbox: SessionSandbox;
  readonly node: HeldExec;
  readonly calls: CallsOf;
  /** Null where there is no compiler. */
  readonly checker: HeldExec | null;
}

/** What the next program will probably ask for; null where nothing can be said, or the user would be asked. */
export type Expected = { readonly request: RunRequest; readonly isTyped: boolean } | null;

/** Nobody asked for it so long: the memory of what waits in it is worth more. */
const IDLE_MS = 120_000;
/** With less memory than this nothing is made ahead. */
const LEAST_FREE_BYTES = 512 << 20;

interface Making {
  readonly expected: Promise<Expected>;
  readonly made: Promise<ReadySandbox | null>;
}

export class ReadySandboxes {
  #making: Making | null = null;
  #idle: NodeJS.Timeout | undefined;
  readonly #closed = new AbortController();
  readonly #ending = new Set<Promise<unknown>>();

  /** One for the next program, unless there is one. Nobody waits for it but that program. */
  prepare(host: McpHost, expect: () => Promise<Expected>): void {
    if (this.#closed.signal.aborted || freemem() < LEAST_FREE_BYTES) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#drop(), IDLE_MS).unref();
    if (this.#making !== null) return;
    const expected = expect();
    const made = expected.then((known) => (known === null ? null : this.#make(host, known)));
    // Whoever takes it, or ends it, hears of a fault.
    made.catch(() => {});
    this.#making = { expected, made };
  }

  /** The one that fits; null where there is none, and whoever asks makes their own. */
  async take(request: RunRequest): Promise<ReadySandbox | null> {
    const making = this.#making;
    if (making === null) return null;
    this.#making = null;
    const known = await making.expected;
    if (known === null || !fits(known, request)) {
      this.#end(making);
      return null;
    }
    const ready = await making.made;
    if (ready === null) return null;
    if (!ready.sandbox.isOver && !ready.node.hasExited) return ready;
    await ready.sandbox.close();
    return null;
  }

  /** Settles when nothing of it is left. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#drop();
    await Promise.all(this.#ending);
  }

  #drop(): void {
    clearTimeout(this.#idle);
    if (this.#making !== null) this.#end(this.#making);
    this.#making = null;
  }

  #end({ made }: Making): void {
    const ended = made.then((ready) => ready?.sandbox.close()).finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  /** Null where it cannot be made: the program that then makes its own is told why. */
  async #make(host: McpHost, { request, isTyped }: NonNullable<Expected>): Promise<ReadySandbox | null> {
    const { signal } = this.#closed;
    let sandbox: SessionSandbox | null = null;
    try {
      sandbox = await SessionSandbox.open(withoutPull(request), { host: host.runtime, signal });
      await makeHome(sandbox);
      await writeFiles(sandbox, waiting.base);
      const calls = new CallsOf();
      const options = { hostEnv: hostEnvFor(host), cwd: HOME, stdin: true, timeoutMs: null, detached: false };
      const [node, checker] = await Promise.all([
        sandbox.hold({ ...options, argv: waiting.run }, (stream) => calls.opened(stream)),
        isTyped ? sandbox.hold({ ...options, argv: waiting.compile }) : null,
      ]);
      return { sandbox, node, calls, checker };
    } catch (error) {
      await sandbox?.close();
      if (isAgentKernelError(error) || signal.aborted) return null;
      throw error;
    }
  }
}

/** Nothing is downloaded for a program that may never come, and no other image takes the place of one that is missing. */
function withoutPull({ image, imageSettings, ...rest }: RunRequest): RunRequest {
  return { ...rest, image: { ...image, named: true }, imageSettings: { ...imageSettings, pull: "never" } };
}

/** The stream of a command's calls, which comes when the guest opens it, and whoever answers on it, who comes later. */
class CallsOf {
  #stream: Duplex | null = null;
  #answer: ((stream: Duplex) => void) | null = null;

  opened(stream: Duplex): void {
    this.#stream = stream;
    this.#answer?.(stream);
  }

  answer(answer: (stream: Duplex) => void): void {
    this.#answer = answer;
    if (this.#stream !== null) answer(this.#stream);
  }
}

/** A program without types may have a sandbox that shows the compiler, but not the other way round. */
function fits({ request, isTyped }: NonNullable<Expected>, wanted: RunRequest): boolean {
  if (!isTyped && wanted.policy.fs.mounts.some(isCompiler)) return false;
  return isDeepStrictEqual(comparable(request), comparable(wanted));
}

/** The command and its time limit come with the program. */
function comparable({ argv: _, policy, ...rest }: RunRequest): unknown {
  const fs = { ...policy.fs, mounts: policy.fs.mounts.filter((mount) => !isCompiler(mount)) };
  return { ...rest, policy: { ...policy, fs, resources: { ...policy.resources, timeoutMs: null } } };
}

function isCompiler({ guest }: { readonly guest: string }): boolean {
  return guest === TYPESCRIPT_AT;
}
