/** Audit records for changes of keys. */
import { ceilingText } from "../api/auth/key-ceiling.js";
import type { KeyRecord } from "../api/auth/key-store.js";
import { escapeText } from "../core/escape.js";
import type { Invocation } from "../invocation/index.js";
import { readConfiguration } from "../request/configuration.js";
import { recordAlone } from "../runtime/run-audit.js";
import type { ParsedOptions } from "./option-spec.js";
import { writeErr } from "./output.js";
import { filesOf } from "./run-spec.js";

type RecordedKey = Pick<KeyRecord, "name" | "scopes" | "ceiling">;

export async function recordKey(
  type: "key.create" | "key.revoke",
  { name, scopes, ceiling }: RecordedKey,
  parsed: ParsedOptions,
  invocation: Invocation,
): Promise<void> {
  const { audit } = await readConfiguration(filesOf(parsed), invocation);
  const most = ceiling === null ? null : ceilingText(ceiling);
  for (const line of await recordAlone({ type, name, scopes, ceiling: most }, audit, invocation)) {
    await writeErr(invocation, `agentkernel: ${escapeText(line)}\n`);
  }
}
