/** The words after a verb's options, held to how many there must be. */
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { ParsedOptions } from "../option-spec.js";

export function wordsOf({ rest }: ParsedOptions, verb: string, wanted: string, least: number, most: number): string[] {
  if (rest.length >= least && rest.length <= most) return [...rest];
  const extra = rest[most];
  const message =
    extra === undefined ? `${verb} needs ${wanted}` : `${verb} takes ${wanted}, and not also "${escapeText(extra)}"`;
  throw new AgentKernelError("invalid_argument", message, { hint: `agentkernel ${verb} --help shows how it is used` });
}
