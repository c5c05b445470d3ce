/** Which sandbox and which paths `diff` and `apply` are about, and what they have to say besides. */
import type { ApplyReport, ChangeList } from "../../core/changes.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { ParsedOptions } from "../option-spec.js";
import { type Printer, writeErr } from "../output.js";

export function nameAndPaths({ rest }: ParsedOptions, verb: string): { name: string; words: readonly string[] } {
  const [name, ...words] = rest;
  if (name !== undefined && name !== "") return { name, words };
  throw new AgentKernelError("invalid_argument", `${verb} needs the name of a sandbox`, {
    hint: `write agentkernel ${verb} NAME; agentkernel list shows the names`,
  });
}

export async function remarkOnRest(printer: Printer, { unmatched, omitted }: ChangeList | ApplyReport): Promise<void> {
  for (const path of unmatched) await writeErr(printer, `agentkernel: nothing changed at ${escapeText(path)}\n`);
  if (omitted > 0) {
    const hint = "name paths to see them";
    await writeErr(printer, `agentkernel: there are at least ${omitted} more changes than can be listed; ${hint}\n`);
  }
}
