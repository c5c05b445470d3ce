/**
 * The process that has a template's memory open for all machines of this process (native/vmm/src/hold.rs). It ends with
 * this process, whatever ends it, and keeps nobody from ending.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { createInterface, type Interface } from "node:readline";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { HeldTemplate } from "./monitor-jail.js";

const MAX_WORDS_CHARS = 1000;

export class TemplateHolder implements HeldTemplate {
  readonly memory: string;
  readonly state: string;
  readonly #talk: HolderTalk;

  private constructor(talk: HolderTalk, { memory, state }: { readonly memory: number; readonly state: number }) {
    this.#talk = talk;
    this.memory = `/proc/${talk.pid}/fd/${memory}`;
    this.state = `/proc/${talk.pid}/fd/${state}`;
  }

  /** With memory that nothing is in yet. */
  static async empty(vmmBinary: string, memoryMib: number): Promise<TemplateHolder> {
    return await TemplateHolder.#start(vmmBinary, ["new", String(memoryMib)]);
  }

  static async open(vmmBinary: string, memoryMib: number, folder: string): Promise<TemplateHolder> {
    return await TemplateHolder.#start(vmmBinary, ["open", String(memoryMib), folder]);
  }

  static async #start(vmmBinary: string, words: readonly string[]): Promise<TemplateHolder> {
    const talk = new HolderTalk(spawn(vmmBinary, ["hold", ...words], { stdio: "pipe", env: {}, detached: true }));
    const { memory, state } = await talk.hear();
    if (typeof memory !== "number" || typeof state !== "number") {
      talk.end();
      throw new AgentKernelError("internal", "the holder of a template said something unexpected");
    }
    return new TemplateHolder(talk, { memory, state });
  }

  get isGone(): boolean {
    return this.#talk.isGone;
  }

  /** Nobody can write it from here on; and it lies in this folder, which is there and empty. */
  async keep(folder: string): Promise<void> {
    this.#talk.say(folder);
    await this.#talk.hear();
  }

  /** Machines that have it open keep it. */
  end(): void {
    this.#talk.end();
  }
}

/** The kernel's words, as Rust has them. */
const FULL = /No space left on device|Disk quota exceeded/;

function notHeld(said: string): AgentKernelError {
  const isFull = FULL.test(said);
  const message = `a saved machine could not be ${isFull ? "kept" : "held"}: ${escapeText(said)}`;
  const hint = isFull ? "make room on the disk of the cache folder" : "see `agentkernel doctor`";
  return new AgentKernelError(isFull ? "resource_exhausted" : "sandbox_start_failed", message, { hint });
}

class HolderTalk {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #heard: AsyncIterator<string>;
  #words = "";
  #isGone = false;

  constructor(child: ChildProcess) {
    const { stdin, stdout, stderr } = child;
    if (stdin === null || stdout === null || stderr === null) {
      throw new AgentKernelError("internal", "the holder of a template has no streams");
    }
    this.#child = child;
    this.pid = child.pid ?? 0;
    // Its end tells.
    stdin.on("error", () => {});
    child.on("error", (error) => {
      this.#words += error.message;
      this.#isGone = true;
    });
    child.once("exit", () => {
      this.#isGone = true;
    });
    stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#words = (this.#words + text).slice(-MAX_WORDS_CHARS);
    });
    this.#lines = createInterface({ input: stdout });
    this.#heard = this.#lines[Symbol.asyncIterator]();
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  say(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Until it has answered, it keeps this process; not any longer. */
  async hear(): Promise<Readonly<Record<string, unknown>>> {
    this.#hold(true);
    const { value, done } = await this.#heard.next();
    if (done === true) {
      if (!this.#isGone) await once(this.#child, "exit").catch(() => {});
      throw notHeld(this.#words.trim());
    }
    this.#hold(false);
    return JSON.parse(value) as Readonly<Record<string, unknown>>;
  }

  end(): void {
    this.#child.stdin?.end();
  }

  #hold(isHeld: boolean): void {
    const { stdin, stdout, stderr } = this.#child;
    const how = isHeld ? "ref" : "unref";
    this.#child[how]();
    for (const stream of [stdin, stdout, stderr]) (stream as Socket | null)?.[how]();
  }
}
