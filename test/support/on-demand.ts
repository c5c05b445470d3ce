/** Callers of a build whose verbs need the daemon, and the daemon that they so start. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach } from "vitest";
import type { Actor } from "./actors.js";
import { clientOf } from "./daemon.js";
import { owningBuild } from "./owning-build/index.js";
import { runCli } from "./run-cli.js";

interface Status {
  readonly up: boolean;
  readonly pid: number;
  readonly on_demand: boolean;
  readonly idle_timeout_ms: number | null;
  readonly held_by: readonly string[];
  readonly served: number;
}

const begun: Actor[] = [];

/** An actor without a daemon, who calls a build whose verbs need one. */
export function caller(actor: Actor, mark = "one", runtime?: Actor): Actor {
  const dist = owningBuild(mark);
  const { variables } = runtime ?? clientOf(actor);
  const made = {
    ...actor,
    dist,
    program: [process.execPath, join(dist, "agentkernel.js")],
    variables: variables ?? {},
  };
  begun.push(made);
  return made;
}

/** For a `describe`: after each of its tests no daemon of a caller is left. */
export function endsDaemons(): void {
  afterEach(async () => {
    for (const one of begun.splice(0)) await runCli(one, ["daemon", "stop", "--all"]);
  });
}

export async function statusOf(actor: Actor): Promise<Status> {
  const { stdout } = await runCli(actor, ["daemon", "status", "--json"]);
  return (JSON.parse(stdout) as { data: Status }).data;
}

export async function until(condition: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 30_000; !condition(); await new Promise(setImmediate)) {
    if (Date.now() > deadline) throw new Error("it did not happen");
  }
}

/** Resolves when the process is gone. */
export async function gone(pid: number): Promise<void> {
  for (const until = Date.now() + 30_000; Date.now() < until; await new Promise(setImmediate)) {
    const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, "latin1") : "";
    if (stat === "" || / [ZX] /.test(stat.slice(stat.lastIndexOf(")")))) return;
  }
  throw new Error(`process ${pid} did not end`);
}
