/** What is wrong with a file, where, and what was likely meant. */
import { AgentKernelError } from "../core/errors.js";
import type { Place } from "./located.js";

export interface Fault extends Place {
  readonly message: string;
  readonly hint?: string;
}

export interface FileFault extends Fault {
  /** As the user knows the file. */
  readonly file: string;
}

/** Thrown by a parser at the first thing that is no text of its language. */
export class TextFault extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.message);
    this.fault = fault;
  }
}

/** Recognised by what it carries: a parser in a chunk of its own has its own copy of the class. */
export function isTextFault(error: unknown): error is TextFault {
  return error instanceof Error && "fault" in error;
}

export function faultSentence({ file, line, column, message }: FileFault): string {
  return `${file}:${line}:${column}: ${message}`;
}

/** Throws the first of them, if any: a file with a fault is never used in part. */
export function throwFaults(faults: readonly FileFault[]): void {
  const [first, ...others] = faults;
  if (first === undefined) return;
  const more = others.length === 0 ? "" : ` (and ${others.length} more; agentkernel policy check ${first.file})`;
  throw new AgentKernelError("invalid_policy", `${faultSentence(first)}${more}`, {
    hint: first.hint ?? "correct the file, or leave the line out",
    details: { file: first.file, line: first.line, column: first.column },
  });
}
