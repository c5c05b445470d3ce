/** What the published SDKs can ask for and agentkernel does not have. */
import { AgentKernelError } from "../core/errors.js";

export function missing(what: string, instead: string): AgentKernelError {
  return new AgentKernelError("unsupported", `this server has no ${what}`, { hint: instead });
}
