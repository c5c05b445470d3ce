/** Jail commands about a state folder that answer with one line of JSON. */
import { spawn } from "node:child_process";
import { AgentKernelError } from "../../../core/errors.js";
import { failure, isFields, unexpected } from "../jail-events.js";
import type { JailPrograms } from "../jail-process.js";
import { exitOf, JAIL_ENVIRONMENT, spawnFailure } from "../jail-start.js";

/** Clears up after a supervisor that was killed. True: one lives, and nothing was touched. */
export async function sweepKept(programs: JailPrograms, stateDir: string): Promise<boolean> {
  return (await ask(programs, "sweep-kept", stateDir)).alive === true;
}

export async function removeKept(programs: JailPrograms, stateDir: string): Promise<void> {
  await ask(programs, "remove-kept", stateDir);
}

async function ask(programs: JailPrograms, verb: string, stateDir: string): Promise<Record<string, unknown>> {
  const child = spawn(programs.jailBinary, [verb, stateDir], {
    detached: true,
    env: JAIL_ENVIRONMENT,
    stdio: ["ignore", "pipe", "ignore"],
  });
  if (child.pid === undefined) throw await spawnFailure(child);
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  const closed = new Promise((resolve) => child.once("close", resolve));
  const { code, signal } = await exitOf(child);
  await closed;
  if (signal !== null) throw new AgentKernelError("internal", `ak-jail ${verb} was killed by ${signal}`);
  const answer: unknown = text === "" ? null : JSON.parse(text);
  if (!isFields(answer)) throw unexpected(`${verb}: ${text}`);
  if (code !== 0) throw failure(answer);
  return answer;
}
