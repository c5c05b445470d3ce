/**
 * Folders of the host's that a container shows without a copy: `ak-jail hold` searches them for what is hidden and protected, takes
 * protected names that are not there yet, and gives them back when the container's first process has ended, whoever is
 * left by then.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { BootSpec } from "../../core/backend.js";
import { AgentKernelError, errorCodeOf } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { nativeBinary } from "../../core/native-binary.js";
import type { LiveView } from "../entry/views.js";
import type { Container } from "./container.js";
import { isOfThisKernel } from "./usage.js";

export class HeldFolders {
  /** Facts about each, for the container's first program. */
  readonly found: Buffer;
  /** Resolves when the names are given back. */
  readonly ended: Promise<void>;
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #said: AsyncIterator<string>;

  private constructor(
    child: ChildProcessByStdio<Writable, Readable, null>,
    said: AsyncIterator<string>,
    found: Buffer,
    ended: Promise<void>,
  ) {
    this.#process = child;
    this.#said = said;
    this.found = found;
    this.ended = ended;
  }

  /** `folder` is the user's own, for notes of what must be undone after a crash. */
  static async start(views: readonly LiveView[], { policy: { fs } }: BootSpec, folder: string): Promise<HeldFolders> {
    const journal = join(folder, "journal");
    await mkdir(journal, { recursive: true, mode: 0o700 });
    const child = spawn(nativeBinary("ak-jail"), ["hold"], {
      // Its own session: a signal to our process group must not end the one who clears up.
      detached: true,
      env: {},
      stdio: ["pipe", "pipe", "ignore"],
    });
    const ended = new Promise<void>((resolve) => {
      child.once("close", () => resolve());
      child.once("error", () => resolve());
    });
    child.stdin.on("error", () => {});
    const said = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    child.stdin.write(`${JSON.stringify({ views, hide: fs.deny, protect: fs.protect, review: fs.review, journal })}\n`);
    const answer = await next(said);
    return new HeldFolders(child, said, Buffer.from(JSON.stringify(Reflect.get(answer, "views"))), ended);
  }

  /** Where nothing is shown live, so that nothing is to be held. */
  static async search(views: readonly LiveView[], boot: BootSpec, folder: string): Promise<Buffer> {
    const searched = await HeldFolders.start(views, boot, folder);
    searched.#process.stdin.end();
    return searched.found;
  }

  /** From now on it is the container's process that counts, and not this one. */
  async untilEnd(container: Container): Promise<void> {
    try {
      const { pid } = (await container.inspect()) ?? { pid: 0 };
      if (!isOfThisKernel(pid, container.id)) throw elsewhere();
      this.#process.stdin.write(`${pid}\n`);
      await next(this.#said);
      // It does not keep this process from ending.
      this.#process.unref();
    } catch (error) {
      this.#process.stdin.destroy();
      throw error;
    }
  }
}

function elsewhere(): AgentKernelError {
  const message = "a live folder is not possible here: the engine runs in another kernel, or its container has ended";
  return new AgentKernelError("unsupported", message, {
    hint: (wording) =>
      `use ${wording.with("fs.workspace.mode", "sync")}, which carries changes over when the sandbox ends`,
  });
}

async function next(said: AsyncIterator<string>): Promise<object> {
  const { value, done } = await said.next();
  const answer: unknown = done === true ? null : JSON.parse(value);
  if (typeof answer !== "object" || answer === null) {
    throw new AgentKernelError("sandbox_start_failed", "what holds the names in a live folder ended");
  }
  if (Reflect.get(answer, "said") !== "failed") return answer;
  const { code, message, hint } = answer as Readonly<Record<string, unknown>>;
  const extras = typeof hint === "string" ? { hint: escapeText(hint) } : {};
  throw new AgentKernelError(errorCodeOf(code), escapeText(String(message)), extras);
}
