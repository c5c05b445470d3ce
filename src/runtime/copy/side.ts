/** Which end of a copy an error is about, and what its user can look at. */
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";

export type Side = "on this machine" | "in the sandbox";

const hints: Readonly<Record<Side, string>> = {
  "on this machine": "a path without / in front begins at the current folder; the folder of a target must be there",
  "in the sandbox":
    "a path without / in front begins at /workspace; the folder of a target must be there, and hidden files are not",
};

/** Errors of files alone: everything else is about neither end. */
export function atSide(error: unknown, side: Side): unknown {
  if (!isAgentKernelError(error) || !["file_error", "not_found"].includes(error.code)) return error;
  if (error.details.side !== undefined) return error;
  const { code, message, details, hint = hints[side] } = error;
  // The number says nothing that the words do not.
  const plain = message.replace(/ \(os error \d+\)$/, "");
  return new AgentKernelError(code, `${side}: ${plain}`, { hint, details: { ...details, side }, cause: error });
}
