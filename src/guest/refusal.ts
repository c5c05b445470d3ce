/** The guest's FAILED codes as errors of ours. */
import { AgentKernelError, type ErrorCode } from "../core/errors.js";
import type { GuestRefusal } from "./messages.js";

const execCodes: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ["not_found", "command_not_found"],
  ["not_executable", "command_not_executable"],
  ["bad_cwd", "bad_workdir"],
  ["bad_user", "bad_user"],
  ["resource", "resource_exhausted"],
  ["unsupported", "unsupported"],
]);

export function execRefused(refusal: GuestRefusal): AgentKernelError {
  return new AgentKernelError(execCodes.get(refusal.code) ?? "internal", refusal.message, {
    details: { code: refusal.code },
  });
}

export function fileRefused(refusal: GuestRefusal, path: string): AgentKernelError {
  return new AgentKernelError("file_error", refusal.message, { details: { code: refusal.code, path } });
}
