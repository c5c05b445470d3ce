/**
 * Starts a daemon that outlives this process: in a session of its own, in `/`, with nothing of this one kept open. Node
 * itself sees to the descriptors: what it found open at its start it passes on to nobody.
 */
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { AgentKernelError, type ErrorCode, errorTable } from "../core/errors.js";
import type { HostEnvironment } from "../core/state-folders.js";
import { daemonEnvironment } from "./environment.js";
import { HEAP_WORDS, withHeapVariables } from "./heap-settings.js";
import type { Stay } from "./lifetime.js";
import { STARTER_VARIABLE, type StartWord } from "./starter.js";

/** How long a daemon may take to listen. */
const START_TIMEOUT_MS = 15_000;

interface BackgroundStart {
  readonly env: HostEnvironment;
  readonly logPath: string;
  readonly stay: Stay;
}

/** Resolves when it listens; rejects with what it says, with `conflict` where another one is up or coming up. */
export async function startInBackground({ env, logPath, stay }: BackgroundStart): Promise<void> {
  const [, entry = ""] = process.argv;
  const log = openLog(logPath);
  const child = spawn(
    process.execPath,
    [...process.execArgv, ...HEAP_WORDS, entry, "daemon", "run", ...wordsFor(logPath, stay)],
    {
      cwd: "/",
      detached: true,
      env: { ...withHeapVariables(daemonEnvironment(env)), [STARTER_VARIABLE]: "1" },
      // Node's own last words, should it have any, go to the log.
      stdio: ["ignore", "pipe", log ?? "ignore"],
    },
  );
  if (log !== null) closeSync(log);
  const { stdout } = child;
  let said = "";
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        child.kill("SIGKILL");
        reject(startFailure(`it did not listen within ${START_TIMEOUT_MS / 1000} s`));
      }, START_TIMEOUT_MS);
      const settle = (error: Error | null) => {
        clearTimeout(timer);
        if (error === null) resolve();
        else reject(error);
      };
      child.once("error", (error) => settle(startFailure(error.message)));
      child.once("close", (status, signal) => settle(startFailure(`it ended with ${signal ?? `status ${status}`}`)));
      stdout?.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (said.includes("\n")) settle(failureOf(said));
      });
    });
  } finally {
    stdout?.destroy();
    child.unref();
  }
}

function wordsFor(logPath: string, { onDemand, idleTimeoutMs }: Stay): readonly string[] {
  const log = ["--log", logPath];
  if (onDemand) return [...log, "--on-demand"];
  return idleTimeoutMs === null ? log : [...log, "--idle-timeout", `${idleTimeoutMs}ms`];
}

/** A log that cannot be written costs lines, never the daemon. */
function openLog(path: string): number | null {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, "a", 0o600);
  } catch {
    return null;
  }
}

function failureOf(line: string): AgentKernelError | null {
  const word = JSON.parse(line.slice(0, line.indexOf("\n"))) as StartWord;
  if (word.ready) return null;
  const code = word.code in errorTable ? (word.code as ErrorCode) : "internal";
  return new AgentKernelError(code, `the daemon did not start: ${word.message}`, {
    hint: word.hint ?? "agentkernel daemon run shows it in the foreground",
  });
}

function startFailure(reason: string): AgentKernelError {
  return new AgentKernelError("internal", `the daemon did not start: ${reason}`, {
    hint: "agentkernel daemon run shows it in the foreground",
  });
}
