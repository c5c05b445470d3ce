/** The process around a daemon: its signals, its folder, its last words; and a daemon in the background. */
import { spawn } from "node:child_process";
import { AgentKernelError } from "../core/errors.js";
import { Daemon, type DaemonOptions } from "./index.js";

/** How long a daemon may take to listen. */
const START_TIMEOUT_MS = 15_000;
const READY = "ready\n";

/** A whole daemon, in this process. Resolves when it has ended in good order. `onReady` is called when it listens. */
export async function runDaemon(options: DaemonOptions, onReady: (daemon: Daemon) => Promise<void>): Promise<void> {
  const { log } = options;
  const daemon = await Daemon.start(options);
  // Nobody's folder is kept from being removed, and a path that is not absolute is found out.
  process.chdir("/");
  // Whoever started it in the background does not listen any more; a warning of Node's must not be its end.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  let isAsked = false;
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(name, () => {
      if (isAsked) process.exit(1);
      isAsked = true;
      void daemon.stop(`by ${name}`);
    });
  }
  const die = (error: unknown) => {
    log.say(`a fault of its own: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exit(1);
  };
  process.on("uncaughtException", die);
  process.on("unhandledRejection", die);
  await onReady(daemon);
  // So that the first command line waits for nothing.
  await Promise.all([import("../cli/verbs/run.js"), import("../cli/run/execute.js")]);
  await daemon.ended;
}

/** It serves many small things: little garbage at a time, cleared by few threads, leaves the processors to sandboxes. */
const LEAN = ["--max-semi-space-size=2", "--v8-pool-size=1"];

/** Says to whoever started it in the background that it listens. */
export const readyLine = READY;

/** Starts one that outlives this process. Resolves when it listens. `words` are those of `daemon run`. */
export async function startInBackground(words: readonly string[]): Promise<void> {
  const [, entry = ""] = process.argv;
  const child = spawn(process.execPath, [...process.execArgv, ...LEAN, entry, "daemon", "run", ...words], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint += text;
  });
  await new Promise<void>((resolve, reject) => {
    const fail = (reason: string) =>
      reject(
        new AgentKernelError("internal", `the daemon did not start: ${reason}`, {
          hint: "agentkernel daemon run shows it in the foreground",
        }),
      );
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      fail(`it did not listen within ${START_TIMEOUT_MS / 1000} s`);
    }, START_TIMEOUT_MS);
    child.once("error", (error) => fail(error.message));
    child.once("close", (status) => {
      clearTimeout(timer);
      fail(firstLine(complaint) ?? `it ended with status ${status}`);
    });
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (!said.includes(READY)) return;
      clearTimeout(timer);
      resolve();
    });
  });
  child.stdout.destroy();
  child.stderr.destroy();
  child.unref();
}

function firstLine(text: string): string | null {
  const [line = ""] = text.replace(/^agentkernel: /, "").split("\n");
  return line === "" ? null : line;
}
