/** `names`: the names of sandboxes that stay, for a shell that completes one. Without a daemon it knows none. */
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeOut } from "../output.js";

export async function execute(_parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const names = invocation.resident?.sandboxes.list().map(({ name }) => `${name}\n`) ?? [];
  return await writeOut(invocation, names.join(""));
}
