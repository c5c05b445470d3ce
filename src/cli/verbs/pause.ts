/** `pause`: sandboxes that stay. */
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { forEach } from "../sandboxes/each.js";
import { sandboxOf } from "../sandboxes/residents.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  return await forEach(parsed, invocation, "pause", (name) => sandboxOf(invocation, name).pause());
}
