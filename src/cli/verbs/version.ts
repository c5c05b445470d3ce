/** `version`. */
import { version } from "../../core/version.js";
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  if (!parsed.flags.has("json")) return await writeOut(invocation, `agentkernel ${version}\n`);
  const { arch, platform } = process;
  return await writeJson(invocation, { success: true, data: { version, node: process.versions.node, platform, arch } });
}
