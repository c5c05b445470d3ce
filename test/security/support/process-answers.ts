/** `run --json` as a value, and a run that is held at a line of its output while something else happens. */
import type { ChildProcess } from "node:child_process";
import type { Layer } from "../../../src/core/backend.js";
import type { Actor } from "../../support/actors.js";
import { type CliOptions, type CliResult, runIn, startCli } from "../../support/run-cli.js";

export interface RunAnswer {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit_code: number;
  readonly timed_out: boolean;
  readonly layers: readonly Layer[];
  readonly usage: {
    readonly cpu_us: number;
    readonly memory_peak_bytes: number | null;
    readonly oom_kills: number;
    readonly processes_denied: number;
  };
}

export async function runForAnswer(
  actor: Actor,
  words: readonly string[],
  options: CliOptions = {},
): Promise<RunAnswer> {
  const ran = await runIn(actor, ["--json", ...words], options);
  const parsed = JSON.parse(ran.stdout) as { success: boolean; data?: RunAnswer; error?: unknown };
  if (parsed.data === undefined) throw new Error(`the run failed: ${ran.stdout} ${ran.stderr}`);
  return parsed.data;
}

/** Whether one layer of the actor's sandboxes stands on this machine. */
export async function layerState(actor: Actor, name: string): Promise<Layer["state"] | undefined> {
  const { layers } = await runForAnswer(actor, ["--workspace", "none", "--workdir", "/", "true"]);
  return layers.find((layer) => layer.name === name)?.state;
}

export interface HeldRun {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Everything on stdout so far. */
  stdout(): string;
  /** Resolves when stdout has this; rejects when the run ends without. */
  saw(pattern: RegExp): Promise<RegExpExecArray>;
  /** Ends the command's input and waits. */
  release(): Promise<CliResult>;
  /** Waits without ending the input. */
  ended(): Promise<CliResult>;
}

/** A run whose input stays open until `release`. */
export function holdRun(actor: Actor, words: readonly string[], options: CliOptions = {}): HeldRun {
  return holdCli(startCli(actor, ["run", "--no-network", ...words], options));
}

export function holdCli(child: ChildProcess): HeldRun {
  if (child.pid === undefined) throw new Error("the command line did not start");
  const chunks: Buffer[] = [];
  const errors: Buffer[] = [];
  const waiting = new Set<() => void>();
  child.stdout?.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    for (const look of waiting) look();
  });
  child.stderr?.on("data", (chunk: Buffer) => errors.push(chunk));
  // A command that is killed does not read what is left.
  child.stdin?.on("error", () => {});
  const stdout = () => Buffer.concat(chunks).toString();
  const end = new Promise<CliResult>((resolve) => {
    child.once("close", (status, signal) => {
      const stdoutBytes = Buffer.concat(chunks);
      resolve({ status, signal, stdout: stdout(), stderr: Buffer.concat(errors).toString(), stdoutBytes });
    });
  });
  return {
    child,
    pid: child.pid,
    stdout,
    saw: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(stdout());
          if (!found) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
        void end.then((ran) => reject(new Error(`ended without ${pattern}: ${JSON.stringify(ran)}`)));
      }),
    release() {
      child.stdin?.end();
      return end;
    },
    ended: () => end,
  };
}
