/** What could not be done, for a model to read: what, why, and what to do next. */
import { errorAnswer } from "../api/http/error-answer.js";
import { isAgentKernelError } from "../core/errors.js";
import type { Redactor } from "../core/redact.js";

interface FailedCall {
  readonly isError: true;
  readonly content: readonly [{ readonly type: "text"; readonly text: string }];
  readonly _meta: { readonly "agentkernel/error": ReturnType<typeof errorAnswer>["error"] };
}

export function failedCall(error: unknown, redact: Redactor): FailedCall {
  const told = errorAnswer(error, redact).error;
  const { code, hint } = told;
  const message = isAgentKernelError(error) ? told.message : "a fault of agentkernel's own; its log says more";
  const text = `${code}: ${message}${hint === null ? "" : `\nNext: ${hint}`}`;
  return { isError: true, content: [{ type: "text", text }], _meta: { "agentkernel/error": told } };
}
