/** `names`: of the sandboxes that stay, or of snapshots, for a shell that completes one. Without a daemon it knows none. */
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { resident } = invocation;
  const all = parsed.flags.has("snapshots") ? resident?.sandboxes.snapshots : resident?.sandboxes;
  const names = all?.list().map(({ name }) => `${name}\n`) ?? [];
  return await writeOut(invocation, names.join(""));
}
