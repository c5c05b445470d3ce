/** `remove`: sandboxes that stay, with everything that they have written. */
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { forEach } from "../sandboxes/each.js";
import { isHeldName } from "../sandboxes/held-name.js";
import { sandboxesOf } from "../sandboxes/residents.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const force = parsed.flags.has("force");
  return await forEach(parsed, invocation, "remove", async (name) => {
    if (isHeldName(name)) return await (await import("../sandboxes/held.js")).removeHeld(name, invocation);
    return await sandboxesOf(invocation).remove(name, { force });
  });
}
