/**
 * Attacks on files as one Python program: the same text runs outside, as the actor, and inside a sandbox. The program
 * makes named attempts and prints what each of them gave; judging them is the test's part.
 */
import { spawn } from "node:child_process";
import type { Actor } from "../../support/actors.js";
import { runIn } from "../../support/run-cli.js";

export interface Attempt {
  /** What the attempt returned, as text. */
  readonly ok?: string;
  /** The name of the errno that it ended with. */
  readonly error?: string;
}

export type Attempts = Readonly<Record<string, Attempt>>;

interface Attack {
  readonly source: string;
  readonly args?: readonly string[];
  readonly cwd: string;
}

interface InsideAttack extends Attack {
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** What every attack can use: attempts by name, files, and system calls that Python does not wrap. */
const prelude = `
import ctypes, errno, json, os, platform, stat, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
results = {}
os.umask(0)
def attempt(name, action):
    try:
        results[name] = {"ok": str(action())}
    except OSError as e:
        results[name] = {"error": errno.errorcode.get(e.errno, str(e.errno))}
def call(number, *words):
    done = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(w) if isinstance(w, int) else w for w in words])
    if done < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return done
def read(path):
    with open(path, errors="replace") as file:
        return file.read(4096)
def write(path, text="attacked"):
    with open(path, "w") as file:
        file.write(text)
    return "written"
def report():
    print(json.dumps(results))
`;

function command({ source, args = [] }: Attack): readonly string[] {
  return ["python3", "-c", `${prelude}\n${source}\nreport()\n`, ...args];
}

function parsed(what: string, stdout: string, stderr: string): Attempts {
  const line = stdout.trimEnd().split("\n").at(-1) ?? "";
  try {
    return JSON.parse(line) as Attempts;
  } catch (cause) {
    throw new Error(`the attack ${what} did not report; it said: ${stdout}${stderr}`, { cause });
  }
}

export async function attackInside(actor: Actor, attack: InsideAttack): Promise<Attempts> {
  const result = await runIn(actor, [...(attack.flags ?? []), ...command(attack)], {
    cwd: attack.cwd,
    ...(attack.env === undefined ? {} : { env: attack.env }),
  });
  return parsed("inside", result.stdout, result.stderr);
}

/** The same program without a sandbox; `under` puts a program such as `unshare` before it. */
export async function attackOutside(actor: Actor, attack: Attack, under: readonly string[] = []): Promise<Attempts> {
  const { stdout, stderr } = await runOutside(actor, [...under, ...command(attack)], attack.cwd);
  return parsed("outside", stdout, stderr);
}

export async function runOutside(
  actor: Actor,
  [program = "", ...words]: readonly string[],
  cwd: string,
): Promise<{ readonly status: number | null; readonly stdout: string; readonly stderr: string }> {
  const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
  const env = { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: actor.home };
  const child = spawn(program, words, { ...identity, cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { status, stdout, stderr };
}

/** The attempts whose result has `text` in it. */
export function leaking(attempts: Attempts, text: string): readonly string[] {
  return Object.keys(attempts)
    .filter((name) => attempts[name]?.ok?.includes(text))
    .sort();
}

/** The attempts that did not fail. */
export function successful(attempts: Attempts): readonly string[] {
  return Object.keys(attempts)
    .filter((name) => attempts[name]?.ok !== undefined)
    .sort();
}
