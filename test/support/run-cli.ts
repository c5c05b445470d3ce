/** The real command line, run as an actor would. */
import { type ChildProcess, spawn } from "node:child_process";
import { type Actor, environmentOf, programOf } from "./actors.js";

export interface CliOptions {
  readonly cwd?: string;
  readonly stdin?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
  /** Killed with SIGKILL after this; the test then fails on its status. */
  readonly deadlineMs?: number;
}

export interface CliResult {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutBytes: Buffer;
}

/** Starts it and hands over the process; the caller ends it. */
export function startCli(actor: Actor, words: readonly string[], options: CliOptions = {}): ChildProcess {
  const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
  const [program = "", ...before] = programOf(actor);
  return spawn(program, [...before, ...words], {
    ...identity,
    cwd: options.cwd ?? actor.home,
    env: {
      PATH: process.env.PATH ?? "/usr/bin:/bin",
      ...environmentOf(actor),
      ...options.env,
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

export async function runCli(actor: Actor, words: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return await resultOf(startCli(actor, words, options), options);
}

/** Feeds the process its input and collects its output until it ends. */
export async function resultOf(child: ChildProcess, options: CliOptions): Promise<CliResult> {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => stderr.push(chunk));
  // A command that does not read its input closes it early.
  child.stdin?.on("error", () => {});
  child.stdin?.end(options.stdin ?? "");
  const deadline = setTimeout(() => child.kill("SIGKILL"), options.deadlineMs ?? 150_000);
  const [status, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, sig) => resolve([code, sig]));
  });
  clearTimeout(deadline);
  const bytes = Buffer.concat(stdout);
  return { status, signal, stdout: bytes.toString(), stderr: Buffer.concat(stderr).toString(), stdoutBytes: bytes };
}

/** `run` without a network (so without the note about it) and whatever else is said. */
export function runIn(actor: Actor, words: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return runCli(actor, ["run", "--no-network", ...words], options);
}
