/** What can go wrong, beside what `agentkernel` itself throws (ApiError, TransportError, …). */
import { AgentKernelError } from "agentkernel";

/** The sandbox of a query could not be made; `cause` says why. */
export class SandboxUnavailableError extends AgentKernelError {
  override readonly name = "SandboxUnavailableError";
}

/** The Claude Agent SDK is not installed beside this package, or does not load; `cause` says why. */
export class AgentSdkMissingError extends AgentKernelError {
  override readonly name = "AgentSdkMissingError";
}

/** A tool was refused by the policy. */
export class ToolRefusedError extends AgentKernelError {
  override readonly name = "ToolRefusedError";
  readonly tool: string;
  readonly rule: string;

  constructor(tool: string, rule: string) {
    super(`${tool} is not allowed: ${rule}`);
    this.tool = tool;
    this.rule = rule;
  }
}
