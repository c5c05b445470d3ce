/** `start`: sandboxes that were made or stopped run again, with all that they had written. */
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { forEach } from "../sandboxes/each.js";
import { sandboxOf } from "../sandboxes/residents.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  return await forEach(parsed, invocation, "start", async (name) => {
    await sandboxOf(invocation, name).start({ hostEnv: invocation.env });
  });
}
