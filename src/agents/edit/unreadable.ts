/** The errors of a file that is not changed, because it cannot be understood or holds something else already. */
import { AgentKernelError } from "../../core/errors.js";

export function notUnderstood(name: string, line: number, column: number, why: string): AgentKernelError {
  return new AgentKernelError("conflict", `${name}:${line}:${column}: ${why}`, {
    hint: "nothing was changed; correct the file first, since what cannot be understood is not edited",
    details: { file: name, line, column },
  });
}

export function taken(name: string, what: string, next: string): AgentKernelError {
  return new AgentKernelError("conflict", `${name}: ${what}`, {
    hint: `nothing was changed; ${next}`,
    details: { file: name },
  });
}

export function placeAt(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset);
  const lastBreak = before.lastIndexOf("\n");
  return { line: before.split("\n").length, column: offset - lastBreak };
}
