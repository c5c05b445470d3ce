/** `snapshots remove`: what was kept of sandboxes. */
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { forEach } from "../sandboxes/each.js";
import { sandboxesOf } from "../sandboxes/residents.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const remove = (name: string) => sandboxesOf(invocation).snapshots.remove(name);
  return await forEach(parsed, invocation, "snapshots remove", remove, { what: "the name of a snapshot" });
}
