/** An answer about a project's own settings: on record, then remembered. */
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import type { Configuration } from "../../request/index.js";
import { decide, type ProjectTrust, type TrustPart } from "../../request/trust/index.js";
import { recordAlone } from "../../runtime/run-audit.js";
import { writeErr } from "../output.js";

export async function decided(
  { dir }: Pick<ProjectTrust, "dir">,
  parts: readonly TrustPart[],
  verdict: "allowed" | "refused",
  audit: Configuration["audit"],
  invocation: Invocation,
): Promise<void> {
  const about = Object.fromEntries(parts.map(({ subject, sha256 }) => [subject, sha256]));
  const lines = parts.flatMap((part) => part.lines);
  await recordTrust({ project: dir, verdict, about, lines }, audit, invocation);
  decide({ dir }, parts, verdict, invocation);
}

export async function forgotten(dir: string, audit: Configuration["audit"], invocation: Invocation): Promise<void> {
  await recordTrust({ project: dir, verdict: "forgotten", about: {}, lines: [] }, audit, invocation);
}

type TrustAnswer = Omit<Extract<Parameters<typeof recordAlone>[0], { type: "trust" }>, "type">;

async function recordTrust(answer: TrustAnswer, audit: Configuration["audit"], invocation: Invocation): Promise<void> {
  for (const line of await recordAlone({ type: "trust", ...answer }, audit, invocation)) {
    await writeErr(invocation, `agentkernel: ${escapeText(line)}\n`);
  }
}
