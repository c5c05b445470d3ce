/** `keys revoke`: from the next request on the key is nobody's. */
import { AgentKernelError } from "../../core/errors.js";
import type { Invocation } from "../../invocation/index.js";
import { keyAnswer, keyStore } from "../key-answers.js";
import { recordKey } from "../key-records.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const [which, ...more] = parsed.rest;
  if (which === undefined || more.length > 0) {
    throw new AgentKernelError("invalid_argument", "keys revoke needs the name or id of one key", {
      hint: "agentkernel keys list shows them",
    });
  }
  // First: no log keeps a key valid.
  const revoked = keyStore(invocation).revoke(which);
  await recordKey("key.revoke", revoked, parsed, invocation);
  if (parsed.flags.has("json")) return await writeJson(invocation, { success: true, data: keyAnswer(revoked) });
  return await writeOut(invocation, `${revoked.name} is revoked\n`);
}
