/** What the sandbox of a program is asked of the runtime with. */
import { isAgentKernelError } from "../../core/errors.js";
import { prepareFor } from "../../mcp/prepare.js";
import type { Call } from "../../mcp/tool.js";
import type { RunRequest } from "../../runtime/run-request.js";
import { compilerFolder } from "./compiler.js";
import { TYPESCRIPT_AT } from "./inside.js";
import { waiting } from "./program.js";
import type { Expected } from "./ready.js";

export interface ProgramWish {
  readonly argv: readonly string[];
  readonly needsCompiler: boolean;
  readonly project: boolean;
  readonly timeoutMs: number | undefined;
}

type Asking = Pick<Call, "host" | "confirm">;

/**
 * It has no network whatever the configuration says: tools are its way out. Where Node is started, the compiler is shown
 * if there is one, so that one sandbox fits programs with and without types.
 */
export async function requestOf(wish: ProgramWish, call: Asking): Promise<RunRequest> {
  const { argv, project, timeoutMs } = wish;
  const body = {
    network: false,
    ...(project || call.host.project === null ? {} : { workspace: "none" as const }),
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
  };
  const request = await prepareFor(call, argv, body);
  const { AGENTKERNEL_TYPESCRIPT: named } = call.host.own.env;
  const folder = wish.needsCompiler ? compilerFolder(named) : argv[0] === waiting.run[0] ? knownCompiler(named) : null;
  if (folder === null) return request;
  const { policy } = request;
  const mount = { host: folder, guest: TYPESCRIPT_AT, readonly: true };
  return { ...request, policy: { ...policy, fs: { ...policy.fs, mounts: [...policy.fs.mounts, mount] } } };
}

/** What a program of the usual kind would ask for. Null where the user would be asked, or each start asks a registry. */
export async function expectedNext({ host }: Pick<Call, "host">): Promise<Expected> {
  try {
    const wish = { argv: waiting.run, needsCompiler: false, project: false, timeoutMs: undefined };
    const request = await requestOf(wish, { host, confirm: null });
    if (request.imageSettings.pull === "always") return null;
    return { request, isTyped: request.policy.fs.mounts.some(({ guest }) => guest === TYPESCRIPT_AT) };
  } catch (error) {
    // Whoever runs a program is told.
    if (isAgentKernelError(error)) return null;
    throw error;
  }
}

function knownCompiler(named: string | undefined): string | null {
  try {
    return compilerFolder(named);
  } catch (error) {
    if (isAgentKernelError(error)) return null;
    throw error;
  }
}
