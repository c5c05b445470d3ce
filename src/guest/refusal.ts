/** The guest's FAILED codes as errors of ours. */
import { AgentKernelError, type ErrorCode } from "../core/errors.js";
import type { ExecRequest } from "../core/exec.js";
import type { Phrase } from "../settings/wording.js";
import type { GuestRefusal } from "./messages.js";

const execCodes: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ["not_found", "command_not_found"],
  ["not_executable", "command_not_executable"],
  ["bad_cwd", "bad_workdir"],
  ["bad_user", "bad_user"],
  ["resource", "resource_exhausted"],
  ["unsupported", "unsupported"],
  ["exists", "conflict"],
]);

/** Says it in the words of the request: what the guest says about itself is only a detail. */
export function execRefused(refusal: GuestRefusal, request: ExecRequest): AgentKernelError {
  const code = execCodes.get(refusal.code) ?? "internal";
  const { message, hint } = explain(refusal, request);
  return new AgentKernelError(code, message, { hint, details: { code: refusal.code, reason: refusal.message } });
}

function explain(
  { code, message }: GuestRefusal,
  { argv, cwd, user, whyNotFound }: ExecRequest,
): { readonly message: string; readonly hint: Phrase } {
  const command = argv[0] ?? "";
  switch (code) {
    case "not_found":
      return {
        message: `${command}: command not found in the sandbox`,
        hint:
          whyNotFound?.() ??
          "it must be a program of the image, or a file of the project named with its path, such as ./build.sh",
      };
    case "not_executable":
      return {
        message: `${command}: found in the sandbox but cannot be executed (${message})`,
        hint: "it needs the executable bit (chmod +x) and a format that this machine runs; a folder is no command",
      };
    case "bad_cwd":
      if (/permission denied/i.test(message)) {
        return {
          message: `the working folder ${cwd} may not be entered by the sandbox's user`,
          hint: (wording) =>
            `its owner is another user inside: use ${wording.with("proc.user", "root")}, or open the directory to others`,
        };
      }
      return {
        message: `the working folder ${cwd} does not exist in the sandbox`,
        hint: ({ name }) =>
          `the project is /workspace; name a directory below it or one of the image with ${name("workdir")}`,
      };
    case "bad_user":
      return {
        message: `the user ${user ?? ""} cannot be used in the sandbox (${message})`,
        hint: (wording) =>
          `use a name of the image's /etc/passwd, or numbers such as ${wording.with("proc.user", "1000:1000")}`,
      };
    case "resource":
      return {
        message: `${command}: could not be started within the sandbox's limits (${message})`,
        hint: ({ name }) =>
          `raise ${name("resources.pids")}, ${name("resources.memoryMiB")} or ${name("resources.openFiles")}`,
      };
    default:
      return { message: `${command}: could not be started: ${message}`, hint: "agentkernel doctor checks the host" };
  }
}

const keyCodes: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ["unknown_key", "not_found"],
  ["busy", "conflict"],
  ["gone", "conflict"],
]);

/** Why a kept command could not be taken up, or not be forgotten. */
export function attachRefused(refusal: GuestRefusal, key: string): AgentKernelError {
  const code = keyCodes.get(refusal.code) ?? "internal";
  return new AgentKernelError(code, `The command ${key}: ${refusal.message}.`, { details: { code: refusal.code } });
}

export function fileRefused(refusal: GuestRefusal, path: string): AgentKernelError {
  return new AgentKernelError("file_error", refusal.message, { details: { code: refusal.code, path } });
}
