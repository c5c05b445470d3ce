/**
 * Attack programs and where they run: compiled once from the C files beside the tests, put into a project folder of
 * the actor, and run either outside, as the actor itself, or inside through the command line.
 */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Actor } from "../../support/actors.js";
import type { CliResult } from "../../support/run-cli.js";
import { testSettings } from "../../support/test-settings.js";

const security = dirname(dirname(fileURLToPath(import.meta.url)));
const compiled = new Map<string, string>();
let binaries: string | null = null;

function binariesFolder(): string {
  if (binaries === null) {
    const made = mkdtempSync(join(tmpdir(), "agentkernel-attacks-"));
    chmodSync(made, 0o755);
    process.once("exit", () => rmSync(made, { recursive: true, force: true }));
    binaries = made;
  }
  return binaries;
}

/** The static program made from `test/security/<source>.c`. */
export function compile(source: string): string {
  const known = compiled.get(source);
  if (known !== undefined) return known;
  const target = join(binariesFolder(), source.replaceAll("/", "-"));
  execFileSync("gcc", ["-O1", "-static", "-pthread", "-Wall", "-o", target, join(security, `${source}.c`)]);
  compiled.set(source, target);
  return target;
}

/** A project of the actor's with these programs in it, each by its last name. */
export function projectWith(actor: Actor, ...sources: readonly string[]): string {
  const project = actor.folder("attack");
  // Readable by every user of the sandbox, not only by the owner.
  chmodSync(project, 0o755);
  for (const source of sources) own(actor, place(compile(source), join(project, source.split("/").at(-1) ?? source)));
  return project;
}

/** Gives a path to the actor. */
export function own(actor: Actor, path: string): string {
  if (process.getuid?.() === 0) chownSync(path, actor.uid, actor.gid);
  return path;
}

function place(from: string, to: string): string {
  copyFileSync(from, to);
  chmodSync(to, 0o755);
  return to;
}

interface OutsideOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly deadlineMs?: number;
}

/** A process without a sandbox, as the actor. */
export function startOutside(
  actor: Actor,
  [program, ...words]: readonly [string, ...string[]],
  options: OutsideOptions = {},
): ChildProcessWithoutNullStreams {
  const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
  return spawn(program, words, {
    ...identity,
    cwd: options.cwd ?? actor.home,
    env: {
      PATH: process.env.PATH ?? "/usr/bin:/bin",
      HOME: actor.home,
      LANG: "C.UTF-8",
      ...testSettings,
      ...options.env,
    },
    stdio: ["pipe", "pipe", "pipe"],
    timeout: options.deadlineMs ?? 30_000,
    killSignal: "SIGKILL",
  });
}

/** The same attack without a sandbox, as the same actor. */
export async function runOutside(
  actor: Actor,
  argv: readonly [string, ...string[]],
  options: OutsideOptions = {},
): Promise<CliResult> {
  const child = startOutside(actor, argv, options);
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  // An attack that does not read its input closes it early.
  child.stdin.on("error", () => {});
  child.stdin.end(options.input ?? "");
  const [status, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, sig) => resolve([code, sig]));
  });
  const bytes = Buffer.concat(stdout);
  return { status, signal, stdout: bytes.toString(), stderr: Buffer.concat(stderr).toString(), stdoutBytes: bytes };
}
