/** All that a call of a WebAssembly module needs before it can start, in order and on record, as for a command. */
import { isAgentKernelError } from "../core/errors.js";
import type { ModuleImage } from "./module-image.js";
import { moduleImage } from "./module-image.js";
import type { OpenRunOptions, OpenSandbox, Plan } from "./open-run.js";
import { openWasm } from "./open-wasm.js";
import type { ResolvedRoot } from "./root-image.js";
import type { RunEgress } from "./run-egress.js";
import type { ModuleCall, RunRequest } from "./run-request.js";
import type { RunSandbox } from "./run-sandbox.js";
import { workerMade } from "./wasm-worker.js";

type ModuleRequest = RunRequest & { readonly module: ModuleCall };

export async function openModule<P extends Plan>(
  request: ModuleRequest,
  options: OpenRunOptions,
  makePlan: (image: ResolvedRoot, egress: RunEgress | null) => P,
): Promise<OpenSandbox & { readonly plan: P }> {
  const { resident } = options.host;
  await workerMade(resident === null, options.signal);
  const wasm = resident?.wasm() ?? openWasm({ ...options.host, resident: null });
  // Where nobody goes on after this run, its workers end with it.
  const close = async (): Promise<void> => {
    if (resident === null) await wasm.close();
  };
  try {
    const image = moduleImage(request.module, wasm.files);
    const plan = makePlan(image, null);
    const sandbox = await startCall(request, options, image, wasm);
    return { sandbox, policy: request.policy, image, backendWhy: request.backend.origin, egress: null, close, plan };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startCall(
  { policy, projectDir, module }: ModuleRequest,
  { host, audit, signal }: OpenRunOptions,
  image: ModuleImage,
  wasm: ReturnType<typeof openWasm>,
): Promise<RunSandbox> {
  const { id, records } = audit;
  const meter = host.resident?.meter;
  const askedAt = performance.now();
  const { name, digest } = image;
  records.starting({ backend: wasm.name, image: { name, digest }, policy, project: projectDir });
  await audit.insist();
  try {
    const { source, caller } = module;
    const spec = { id, hostname: id, policy, projectDir, module: source, digest: image.moduleDigest, caller };
    const call = await wasm.open(spec, signal);
    records.ready(call.layers);
    meter?.started({ kind: "run", isWarm: call.isWarm, ms: performance.now() - askedAt });
    return call;
  } catch (error) {
    meter?.startFailed(isAgentKernelError(error) ? error.code : "internal");
    records.failed(error);
    throw error;
  }
}
