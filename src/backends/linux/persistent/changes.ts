/** Lists and applies the changes of a persistent sandbox: `ak-changes` looks and applies, and this speaks to it. */
import { type ChildProcess, spawn } from "node:child_process";
import { Readable } from "node:stream";
import type {
  ApplyReport,
  ChangeKind,
  ChangeList,
  FileShape,
  PersistentChanges,
  ProjectChange,
} from "../../../core/changes.js";
import { AgentKernelError } from "../../../core/errors.js";
import { escapeText } from "../../../core/escape.js";
import { nativeBinary } from "../../../core/native-binary.js";
import { type Fields, failure, isFields, list, number, unexpected } from "../jail-events.js";
import type { JailPrograms } from "../jail-process.js";
import { exitOf, JAIL_ENVIRONMENT, spawnFailure } from "../jail-start.js";

/** A list of as many changes as it tells is far below this. */
const MAX_ANSWER_BYTES = 256 << 20;
const MAX_WORDS_CHARS = 1 << 20;

type ChangesProgram = Pick<JailPrograms, "changesBinary">;

export function linuxChanges(programs: ChangesProgram): PersistentChanges {
  return {
    async list(stateDir, options, signal) {
      const { changes, end } = await askChanges(programs, "list", stateDir, options, signal);
      return { ...about(end), changes, synced: end.synced === true } satisfies ChangeList;
    },
    patch: (stateDir, options, note, signal) => patch(programs, stateDir, options, note, signal),
    async apply(stateDir, options, signal) {
      const { changes, end } = await askChanges(programs, "apply", stateDir, options, signal);
      const counts = { applied: number(end, "applied"), conflicts: number(end, "conflicts") };
      const rest = { refused: number(end, "refused"), held: number(end, "held") };
      return { ...about(end), changes, ...counts, ...rest } satisfies ApplyReport;
    },
  };
}

export async function askChanges(
  programs: ChangesProgram,
  verb: string,
  stateDir: string,
  order: object,
  signal?: AbortSignal,
) {
  const job = await startChangesJob(programs, [verb, stateDir], order, signal);
  const changes: ProjectChange[] = [];
  const decoder = new TextDecoder();
  let end: Fields | null = null;
  let rest = "";
  let received = 0;
  try {
    for await (const chunk of job.output) {
      received += chunk.length;
      if (received > MAX_ANSWER_BYTES) throw unexpected(`${verb}: too much`);
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const fields: unknown = JSON.parse(line);
        if (!isFields(fields)) throw unexpected(line);
        if (isFields(fields.end)) end = fields.end;
        else changes.push(projectChange(fields));
      }
    }
    await job.finished();
  } finally {
    job.kill();
  }
  if (end === null) throw unexpected(`${verb}: no end`);
  return { changes, end };
}

async function* patch(
  programs: ChangesProgram,
  stateDir: string,
  options: object,
  note: (text: string) => void,
  signal?: AbortSignal,
): AsyncGenerator<Buffer, void, void> {
  const job = await startChangesJob(programs, ["patch", stateDir], options, signal);
  try {
    yield* job.output;
    for (const line of await job.finished()) note(escapeText(line));
  } finally {
    job.kill();
  }
}

interface Job {
  readonly output: AsyncIterable<Buffer>;
  /** Yields its other output line by line. Rejects with why it failed. */
  finished(): Promise<readonly string[]>;
  kill(): void;
}

/** `input` is an order, or what the program is to hear instead of one. */
export async function startChangesJob(
  { changesBinary }: ChangesProgram,
  order: readonly string[],
  input: object | AsyncIterable<Buffer>,
  signal?: AbortSignal,
): Promise<Job> {
  signal?.throwIfAborted();
  const verb = order[0] ?? "";
  const child = spawn(changesBinary ?? nativeBinary("ak-changes"), order, {
    detached: true,
    env: JAIL_ENVIRONMENT,
    stdio: ["pipe", "pipe", "pipe"],
  });
  if (child.pid === undefined) throw await spawnFailure(child);
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    words = (words + text).slice(-MAX_WORDS_CHARS);
  });
  // Its end tells.
  child.stdin.on("error", () => {});
  if (Symbol.asyncIterator in input)
    Readable.from(input)
      .on("error", () => child.stdin.end())
      .pipe(child.stdin);
  else child.stdin.end(JSON.stringify(input));
  const kill = () => void (child as ChildProcess).kill("SIGKILL");
  signal?.addEventListener("abort", kill, { once: true });
  const closed = new Promise((resolve) => child.once("close", resolve));
  const exited = exitOf(child);
  return {
    output: child.stdout as AsyncIterable<Buffer>,
    async finished() {
      const exit = await exited;
      await closed;
      signal?.throwIfAborted();
      const lines = words.split("\n").filter((line) => line !== "");
      if (exit.signal !== null)
        throw new AgentKernelError("internal", `ak-changes ${verb} was killed by ${exit.signal}`);
      if (exit.code !== 0) throw said(verb, lines.at(-1) ?? "");
      return lines;
    },
    kill() {
      signal?.removeEventListener("abort", kill);
      kill();
    },
  };
}

function said(verb: string, line: string): AgentKernelError {
  try {
    const fields: unknown = JSON.parse(line);
    if (isFields(fields)) return failure(fields);
  } catch {
    // Not its own words, but those of whatever ended it.
  }
  return unexpected(`${verb}: ${line}`);
}

function about(end: Fields) {
  return {
    projectDir: String(end.project),
    omitted: number(end, "omitted"),
    unmatched: list(end.unmatched).map(String),
  };
}

function projectChange(fields: Fields): ProjectChange {
  const text = (value: unknown) => (typeof value === "string" ? value : null);
  const { change, path, lines } = fields;
  if (!isKind(change) || typeof path !== "string") throw unexpected(JSON.stringify(fields));
  return {
    change,
    path,
    from: text(fields.from),
    now: fields.type === undefined ? null : shape(fields),
    before: isFields(fields.old) ? shape(fields.old) : null,
    binary: typeof fields.binary === "boolean" ? fields.binary : null,
    lines: Array.isArray(lines) ? { added: Number(lines[0]), removed: Number(lines[1]) } : null,
    conflict: text(fields.conflict),
    refused: text(fields.refused),
    review: fields.review === true,
  };
}

function shape(fields: Fields): FileShape {
  const { type, target } = fields;
  if (type !== "file" && type !== "symlink" && type !== "dir" && type !== "other") throw unexpected(String(type));
  return {
    type,
    mode: number(fields, "mode"),
    sizeBytes: number(fields, "size"),
    target: typeof target === "string" ? target : null,
  };
}

function isKind(value: unknown): value is ChangeKind {
  return value === "added" || value === "modified" || value === "deleted" || value === "renamed";
}
