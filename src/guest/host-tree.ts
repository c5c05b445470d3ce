/** The host's end of a copy: `ak-copy`, which reads and writes files with the rights of whoever runs agentkernel. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { AgentKernelError } from "../core/errors.js";
import { escapeText } from "../core/escape.js";
import { nativeBinary } from "../core/native-binary.js";
import type { HideRule } from "../core/policy.js";
import { readTreeReport, type TreeReport, type TreeTarget } from "./tree.js";

const MAX_WORDS_CHARS = 1 << 20;

interface HostTreeOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whoever gets it knows of holes in files; otherwise they are sent as zeros. */
  readonly holes?: boolean;
}

/** Somebody has begun to read it, as far as there is room for what was read. */
export interface HostTree {
  /** Once. */
  read(): AsyncGenerator<Buffer, void, void>;
  /** Where it is not wanted any more. One that was read to its end has nothing to give up. */
  abandon(): void;
}

export function beginHostTree(
  path: string,
  hide: readonly HideRule[],
  { signal, holes = false }: HostTreeOptions = {},
): HostTree {
  const end = startEnd("read", { path, hide, holes }, signal);
  end.child.stdin.end();
  // What nobody listens for is thrown away when the process ends.
  end.child.stdout.on("readable", () => {});
  return {
    async *read() {
      try {
        yield* end.child.stdout as AsyncIterable<Buffer>;
        await end.finished();
      } finally {
        end.kill();
      }
    },
    abandon: () => end.kill(),
  };
}

export async function* readHostTree(
  path: string,
  hide: readonly HideRule[],
  options: HostTreeOptions = {},
): AsyncGenerator<Buffer, void, void> {
  yield* beginHostTree(path, hide, options).read();
}

interface HostTarget extends TreeTarget {
  readonly maxBytes: number;
  readonly maxEntries: number;
}

export async function writeHostTree(
  target: HostTarget,
  content: AsyncIterable<Buffer>,
  signal?: AbortSignal,
): Promise<TreeReport> {
  const end = startEnd("write", target, signal);
  let answer = "";
  end.child.stdout.setEncoding("utf8").on("data", (text: string) => {
    answer = (answer + text).slice(0, MAX_WORDS_CHARS);
  });
  try {
    for await (const chunk of content) {
      if (!(await end.send(chunk))) break;
    }
    end.child.stdin.end();
    await end.finished();
    return readTreeReport(JSON.parse(answer) as Record<string, unknown>);
  } finally {
    // One that is killed would leave the file that it was writing; one that hears nothing more clears it away.
    end.child.stdin.destroy();
    await end.ended;
    end.kill();
  }
}

interface HostEnd {
  readonly child: ChildProcessWithoutNullStreams;
  /** Never rejects. */
  readonly ended: Promise<unknown>;
  /** False once it takes no more; why, `finished` says. */
  send(chunk: Buffer): Promise<boolean>;
  finished(): Promise<void>;
  kill(): void;
}

function startEnd(verb: "read" | "write", order: object, signal?: AbortSignal): HostEnd {
  signal?.throwIfAborted();
  const child = spawn(nativeBinary("ak-copy"), [verb, JSON.stringify(order)], {
    // An own session: a signal to our process group must not end the one who clears up.
    detached: true,
    env: {},
    stdio: "pipe",
  });
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    words = (words + text).slice(-MAX_WORDS_CHARS);
  });
  const ended = new Promise<number | Error | null>((resolve) => {
    child.once("error", resolve);
    child.once("close", (code) => resolve(code));
  });
  // Its end tells.
  child.stdin.on("error", () => {});
  const kill = () => void child.kill("SIGKILL");
  const callOff = verb === "read" ? kill : () => void child.stdin.destroy();
  signal?.addEventListener("abort", callOff, { once: true });
  return {
    child,
    ended,
    send(chunk) {
      if (child.stdin.destroyed) return Promise.resolve(false);
      return new Promise((resolve) => {
        child.stdin.write(chunk, (error) => resolve(error === null || error === undefined));
      });
    },
    async finished() {
      const status = await ended;
      signal?.throwIfAborted();
      if (status instanceof Error) throw new AgentKernelError("internal", "ak-copy does not start", { cause: status });
      if (status !== 0) throw failureOf(verb, words);
    },
    kill() {
      signal?.removeEventListener("abort", callOff);
      kill();
    },
  };
}

function failureOf(verb: string, words: string): AgentKernelError {
  const line = words.trim().split("\n").at(-1) ?? "";
  try {
    const { code, message } = JSON.parse(line) as { readonly code: unknown; readonly message: unknown };
    if (typeof code === "string" && typeof message === "string") return refused(code, escapeText(message));
  } catch {
    // Not its own words, but those of whatever ended it.
  }
  return new AgentKernelError("internal", `ak-copy ${verb} failed: ${escapeText(line.slice(0, 200))}`);
}

function refused(code: string, message: string): AgentKernelError {
  const details = { code };
  if (code === "too_large") {
    const hint = "what was copied before it stays; raise --max-size, or copy a part of it";
    return new AgentKernelError("resource_exhausted", message, { hint, details });
  }
  if (code === "not_found") return new AgentKernelError("not_found", message, { details });
  return new AgentKernelError("file_error", message, { details });
}
