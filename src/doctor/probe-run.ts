/** Runs `ak-probe all` with a deadline and a bound on what it may print. */
import { spawn } from "node:child_process";
import { AgentKernelError } from "../core/errors.js";

const OUTPUT_LIMIT_BYTES = 256 * 1024;

interface ProbeRun {
  readonly stdout: string;
  /** Why it ended before it was done; null: it was done. */
  readonly cutShort: string | null;
}

export function runProbe(probeBinary: string, deadlineMs: number): Promise<ProbeRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(probeBinary, ["all"], { stdio: ["ignore", "pipe", "ignore"] });
    const chunks: Buffer[] = [];
    let receivedBytes = 0;
    let cutShort: string | null = null;
    const stop = (why: string) => {
      cutShort ??= why;
      child.kill("SIGKILL");
    };
    const timer = setTimeout(() => stop(`ak-probe was not done after ${deadlineMs} ms`), deadlineMs);
    child.stdout.on("data", (chunk: Buffer) => {
      receivedBytes += chunk.length;
      if (receivedBytes > OUTPUT_LIMIT_BYTES) stop("ak-probe printed too much");
      else chunks.push(chunk);
    });
    child.once("error", (cause) => {
      clearTimeout(timer);
      reject(
        new AgentKernelError("backend_unavailable", `The probe ${probeBinary} could not be started.`, {
          hint: "Build it with `npm run build`.",
          cause,
        }),
      );
    });
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      if (code !== 0) cutShort ??= `ak-probe ended with ${signal ?? `status ${code}`}`;
      const text = Buffer.concat(chunks).toString("utf8");
      // Of a run that was cut short the last line may be half a one.
      resolve({ stdout: cutShort === null ? text : text.slice(0, text.lastIndexOf("\n") + 1), cutShort });
    });
  });
}
