/** What the sandbox of a program is asked of the runtime with. */
import { isAgentKernelError } from "../../core/errors.js";
import { prepareFor } from "../../mcp/prepare.js";
import type { Call } from "../../mcp/tool.js";
import type { RunRequest } from "../../runtime/run-request.js";
import { compilerFolder } from "./compiler.js";
import { TYPESCRIPT_AT } from "./inside.js";
import { waiting } from "./program.js";
import type { Expected } from "./ready.js";

interface ProgramRequest {
  readonly argv: readonly string[];
  readonly needsCompiler: boolean;
  readonly project: boolean;
  readonly timeoutMs: number | undefined;
}

type Asking = Pick<Call, "host" | "confirm">;

/** It has no network whatever the configuration says: tools are its way out. */
export async function requestOf(programRequest: ProgramRequest, call: Asking): Promise<RunRequest> {
  const { argv, project, timeoutMs } = programRequest;
  const body = {
    network: false,
    ...(project || call.host.project === null ? {} : { workspace: "none" as const }),
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
  };
  const request = await prepareFor(call, argv, body);
  if (!programRequest.needsCompiler) return request;
  const { policy } = request;
  const folder = compilerFolder(call.host.own.env.AGENTKERNEL_TYPESCRIPT);
  const mount = { host: folder, guest: TYPESCRIPT_AT, readonly: true };
  return { ...request, policy: { ...policy, fs: { ...policy.fs, mounts: [...policy.fs.mounts, mount] } } };
}

/** What a program of the usual kind would ask for. Null where the user would be asked, or each start asks a registry. */
export async function expectedNext({ host }: Pick<Call, "host">): Promise<Expected> {
  try {
    const isTyped = hasCompiler(host.own.env.AGENTKERNEL_TYPESCRIPT);
    const programRequest = { argv: waiting.run, needsCompiler: isTyped, project: false, timeoutMs: undefined };
    const request = await requestOf(programRequest, { host, confirm: null });
    return request.imageSettings.pull === "always" ? null : { request, isTyped };
  } catch (error) {
    // Whoever runs a program is told.
    if (isAgentKernelError(error)) return null;
    throw error;
  }
}

function hasCompiler(named: string | undefined): boolean {
  try {
    compilerFolder(named);
    return true;
  } catch (error) {
    if (isAgentKernelError(error)) return false;
    throw error;
  }
}
