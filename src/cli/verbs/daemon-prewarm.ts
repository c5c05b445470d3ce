/** `daemon prewarm`: sandboxes are built for runs that have not come yet. */
import { AgentKernelError } from "../../core/errors.js";
import type { CompatibilityMode } from "../../core/policy.js";
import { imageOfRuntime } from "../../detect/runtimes.js";
import type { Invocation } from "../../invocation/index.js";
import { readConfiguration } from "../../request/configuration.js";
import { prepareRun } from "../../request/prepare-run.js";
import type { SandboxSpec } from "../../request/run-spec.js";
import { forImage } from "../../runtime/backends/choice.js";
import { chooseBackend } from "../../runtime/backends/choose.js";
import { resolveRoot } from "../../runtime/root-image.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";
import { poolSettings } from "../pool-settings.js";
import { filesOf, runSpecOf } from "../run-spec.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { resident } = invocation;
  if (resident === null) {
    throw new AgentKernelError("conflict", "no daemon is up that could keep sandboxes warm", {
      hint: "agentkernel daemon start starts one",
    });
  }
  const configuration = await readConfiguration(filesOf(parsed), invocation);
  const settings = poolSettings(configuration.daemon);
  resident.pool.configure(settings);
  const mode = parsed.values.get("mode")?.[0];
  const named = mode === undefined ? undefined : configuration.daemon.agents?.get(mode);
  const image = named?.base_image ?? (named?.runtime === undefined ? undefined : imageOfRuntime(named.runtime));
  const { sandbox, ...spec } = runSpecOf(parsed, invocation);
  const asAgent: SandboxSpec = {
    ...(image === undefined ? {} : { image }),
    ...sandbox,
    ...(mode === undefined ? {} : { mode: mode as CompatibilityMode }),
  };
  const exec = { argv: parsed.rest };
  const request = prepareRun({ ...spec, sandbox: asAgent, exec }, invocation, configuration);
  const { policy, projectDir, homeDir } = request;
  const first = await chooseBackend(invocation, request);
  const root = await resolveRoot(request.image, request.imageSettings, {}, first.backend);
  try {
    const { backend } = await forImage(first, root.source);
    const spec = { id: "warm", hostname: "warm", policy, image: root.source, projectDir, homeDir };
    const shape = backend.shapeOf?.(spec) ?? null;
    if (shape === null) {
      throw new AgentKernelError("unsupported", "such a sandbox cannot be built ahead", { hint: "run it as it is" });
    }
    const { min } = settings.agents.get(policy.mode) ?? settings;
    const warm = await resident.pool.prewarm(shape, policy.mode, min);
    if (parsed.flags.has("json")) {
      return await writeJson(invocation, { success: true, data: { agent: policy.mode, shape: shape.label, warm } });
    }
    return await writeOut(invocation, `${policy.mode}: ${warm} warm; ${shape.label}\n`);
  } finally {
    await root.release();
  }
}
