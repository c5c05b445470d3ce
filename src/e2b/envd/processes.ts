/**
 * Commands that clients have started, by their process id inside. A command is not its first request's: it goes on when
 * the client hangs up, and others may look on. What nobody looks at is read and thrown away, as there.
 */
import type { Buffer } from "node:buffer";
import type { OutputSink } from "../../guest/index.js";
import type { ExecInfo, Sandbox, SandboxExec } from "../../runtime/sandboxes/index.js";

export type Stream = "stdout" | "stderr" | "pty";

export interface Watcher {
  /** The chunk is lent until `done` is called, which must happen. */
  readonly data: (stream: Stream, chunk: Buffer, done: () => void) => void;
  /** All output was given before. */
  readonly end: (info: ExecInfo) => void;
}

export interface ProcessFacts {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly tag: string | undefined;
}

export class Process {
  readonly pid: number;
  readonly facts: ProcessFacts;
  readonly exec: SandboxExec;
  readonly isTerminal: boolean;
  /** False once its input was closed. */
  takesInput: boolean;
  readonly #watchers = new Set<Watcher>();
  /** Everything is known, and every watcher was told. */
  readonly over: Promise<void>;

  constructor(pid: number, exec: SandboxExec, facts: ProcessFacts, takesInput: boolean, first: Watcher) {
    this.pid = pid;
    this.exec = exec;
    this.facts = facts;
    this.isTerminal = exec.facts.tty;
    this.takesInput = takesInput;
    this.#watchers.add(first);
    const streams = this.isTerminal
      ? ([[1, "pty"]] as const)
      : ([
          [1, "stdout"],
          [2, "stderr"],
        ] as const);
    const flushed = streams.map(
      ([number, name]) => new Promise<void>((resolve) => exec.guest.onOutput(number, this.#sink(name, resolve))),
    );
    this.over = exec.over.then(async (info) => {
      // Of one that was lost there may be output that never ends.
      if (info.state === "ended") await Promise.all(flushed);
      for (const watcher of this.#watchers) watcher.end(info);
      this.#watchers.clear();
    });
  }

  /** From now on. Returns how to stop. */
  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    return () => this.lookAway(watcher);
  }

  lookAway(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  /** Resolves when the command's end of the stream has room again. */
  async write(chunk: Buffer, signal: AbortSignal): Promise<void> {
    const { guest } = this.exec;
    if (guest.writeStdin(chunk)) return;
    await new Promise<void>((resolve) => {
      guest.onDrain(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
      void this.exec.over.then(() => resolve());
    });
  }

  #sink(stream: Stream, onEnd: () => void): OutputSink {
    return {
      write: (chunk, done) => {
        let open = this.#watchers.size + 1;
        const one = () => {
          open--;
          if (open === 0) done();
        };
        for (const watcher of this.#watchers) watcher.data(stream, chunk, one);
        one();
      },
      end: onEnd,
    };
  }
}

export class Processes {
  readonly #bySandbox = new WeakMap<Sandbox, Map<number, Process>>();

  list(sandbox: Sandbox): readonly Process[] {
    return [...(this.#bySandbox.get(sandbox)?.values() ?? [])];
  }

  find(sandbox: Sandbox, { pid, tag }: { readonly pid?: number; readonly tag?: string }): Process | undefined {
    if (pid !== undefined) return this.#bySandbox.get(sandbox)?.get(pid);
    return this.list(sandbox).find(({ facts }) => tag !== undefined && facts.tag === tag);
  }

  add(sandbox: Sandbox, process: Process): void {
    const known = this.#bySandbox.get(sandbox) ?? new Map<number, Process>();
    this.#bySandbox.set(sandbox, known);
    known.set(process.pid, process);
    void process.over.then(() => {
      // The number may be another's by now.
      if (known.get(process.pid) === process) known.delete(process.pid);
    });
  }
}
