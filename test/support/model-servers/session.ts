/**
 * A program of its own: one agent and the model that it talks to. It runs in a network namespace that has nothing but
 * loopback, so whatever the agent tries to reach besides is not there. Its only argument is a `SessionOrder`; it prints a
 * `SessionReport`.
 */
import { spawn } from "node:child_process";
import { type Protocol, type Seen, type Step, startModelServer } from "./index.js";

export interface SessionOrder {
  readonly protocol: Protocol;
  readonly script: readonly Step[];
  /** `{url}` in a word or a value stands for where the model is. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly deadlineMs: number;
}

export interface SessionReport {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly seen: Seen;
}

async function main(order: SessionOrder): Promise<void> {
  const model = await startModelServer(order.protocol, order.script);
  const placed = (text: string): string => text.replaceAll("{url}", model.url);
  const [program = "", ...words] = order.argv.map(placed);
  const env = Object.fromEntries(Object.entries(order.env).map(([name, value]) => [name, placed(value)]));
  const child = spawn(program, words, { cwd: order.cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += String(chunk);
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += String(chunk);
  });
  const deadline = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), order.deadlineMs);
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code));
  });
  clearTimeout(deadline);
  model.close();
  const report: SessionReport = { status, stdout, stderr, seen: model.seen };
  process.stdout.write(JSON.stringify(report), () => process.exit(0));
}

void main(JSON.parse(process.argv[2] ?? "{}") as SessionOrder);
