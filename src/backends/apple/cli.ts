/** Apple's program `container`, asked for one thing at a time. Only what it says as JSON is read, never its tables. */
import { execFile } from "node:child_process";
import { basename, dirname, isAbsolute } from "node:path";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { findProgram } from "../../core/find-program.js";

const PATIENCE_MS = 30_000;
const MAX_ANSWER_BYTES = 16 << 20;
const MAX_WORDS_CHARS = 500;

/** It refused, or could not be started. `words` is what it said. */
export class CliRefusal extends Error {
  override readonly name = "CliRefusal";
  readonly words: string;

  constructor(words: string) {
    super(words);
    this.words = words;
  }
}

interface CliOptions {
  readonly signal?: AbortSignal | undefined;
  /** Pulls take as long as they take. */
  readonly patienceMs?: number;
}

/** A path that is named outright is the only one. Null where there is none that may be executed. */
export function containerPath(env: Readonly<Record<string, string | undefined>>): string | null {
  const { AGENTKERNEL_CONTAINER: named = "", PATH = "" } = env;
  if (named !== "") return isAbsolute(named) ? findProgram(basename(named), dirname(named)) : null;
  return findProgram("container", `${PATH}:/usr/local/bin:/opt/homebrew/bin`);
}

export class ContainerCli {
  readonly program: string;

  constructor(program: string) {
    this.program = program;
  }

  /** Resolves to its output. Rejects with a CliRefusal. */
  ask(words: readonly string[], { signal, patienceMs = PATIENCE_MS }: CliOptions = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { timeout: patienceMs, maxBuffer: MAX_ANSWER_BYTES, ...(signal ? { signal } : {}) };
      const child = execFile(this.program, [...words], options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else if (signal?.aborted) reject(signal.reason);
        else reject(new CliRefusal(lastWords(stderr) || error.message));
      });
      child.stdin?.end();
    });
  }

  async json(words: readonly string[], options: CliOptions = {}): Promise<unknown> {
    const text = await this.ask(words, options);
    try {
      return JSON.parse(text) as unknown;
    } catch (cause) {
      const asked = words.slice(0, 2).join(" ");
      throw new AgentKernelError("internal", `\`container ${asked}\` did not answer in JSON`, { cause });
    }
  }
}

export function lastWords(stderr: string): string {
  return escapeText(stderr.trim().slice(-MAX_WORDS_CHARS));
}
