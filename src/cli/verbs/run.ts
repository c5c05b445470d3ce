/** `run`: a temporary sandbox for one command. */
import { AgentKernelError } from "../../core/errors.js";
import type { Invocation } from "../../invocation/index.js";
import { withAgentInside } from "../../request/agent-inside.js";
import { prepareRun } from "../../request/prepare-run.js";
import { isPlace } from "../../runtime/root-image.js";
import { graceOf } from "../grace.js";
import { inProject } from "../invocation/in-project.js";
import type { ParsedOptions } from "../option-spec.js";
import { poolSettings } from "../pool-settings.js";
import { runSpecOf } from "../run-spec.js";
import { withTrust } from "../trust/ask.js";

/** Questions need the terminal itself, and a place may be a pipe that somebody has to wait at. */
export function runsApart({ flags, values }: ParsedOptions): boolean {
  return flags.has("ask") || isPlace(values.get("image")?.[0] ?? "");
}

export function needsDaemon({ flags }: ParsedOptions): boolean {
  return flags.has("keep");
}

export async function execute(parsed: ParsedOptions, caller: Invocation): Promise<number> {
  const invocation = inProject(parsed, caller);
  const spec = withAgentInside(runSpecOf(parsed, invocation), invocation);
  const configuration = await withTrust(spec, invocation, invocation);
  invocation.resident?.pool.configure(poolSettings(configuration.daemon));
  const request = prepareRun(spec, invocation, configuration);
  const failsOnConflict = parsed.flags.has("fail-on-conflict");
  const graceMs = graceOf(parsed);
  if (parsed.flags.has("keep")) {
    if (request.module !== null) throw neverKept();
    if (failsOnConflict) throw tooEarly();
    const { lifeOf } = await import("../sandboxes/life-options.js");
    return await (await import("../sandboxes/run-persistent.js")).runPersistent(
      request,
      { ...lifeOf(parsed), graceMs },
      invocation,
    );
  }
  refuseLife(parsed);
  return await (await import("../run/execute.js")).execute(request, invocation, { failsOnConflict, graceMs });
}

function neverKept(): AgentKernelError {
  return new AgentKernelError("invalid_argument", "--keep contradicts --backend wasm", {
    hint: "a WebAssembly module has no sandbox that stays; leave one of them out",
  });
}

function tooEarly(): AgentKernelError {
  return new AgentKernelError("invalid_argument", "--fail-on-conflict contradicts --keep", {
    hint: "a sandbox that stays is synced by its stop: agentkernel stop --fail-on-conflict NAME",
  });
}

function refuseLife({ values }: ParsedOptions): void {
  const named = ["ttl", "idle-timeout"].find((option) => values.has(option));
  if (named === undefined) return;
  throw new AgentKernelError("invalid_argument", `--${named} is for sandboxes that stay`, {
    hint: "add --keep, or leave it out",
  });
}
