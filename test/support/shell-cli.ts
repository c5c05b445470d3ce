/** The command line inside a shell's line, as a user types it: pipes, redirections, limits. `agentkernel` is a function. */
import { spawn } from "node:child_process";
import { type Actor, environmentOf, programOf } from "./actors.js";
import type { CliOptions, CliResult } from "./run-cli.js";

export async function shellCli(actor: Actor, line: string, options: CliOptions = {}): Promise<CliResult> {
  const program = programOf(actor)
    .map((word) => `'${word}'`)
    .join(" ");
  const child = spawn("/bin/bash", ["-c", `agentkernel() { ${program} "$@"; }\n${line}`], {
    ...(process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {}),
    cwd: options.cwd ?? actor.home,
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin", ...environmentOf(actor), ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  child.stdin.on("error", () => {});
  child.stdin.end(options.stdin ?? "");
  const [status, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, sig) => resolve([code, sig]));
  });
  const bytes = Buffer.concat(stdout);
  return { status, signal, stdout: bytes.toString(), stderr: Buffer.concat(stderr).toString(), stdoutBytes: bytes };
}
