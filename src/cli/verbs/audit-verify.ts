/** `audit verify`: whether the log is as it was written. Status 0 if it is, 1 if not. */
import { beginningsOf } from "../../audit/beginnings.js";
import { type Verdict, verify } from "../../audit/verify.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { auditBeginningsFile } from "../../core/state-folders.js";
import type { Invocation } from "../../invocation/index.js";
import { openAuditFolder } from "../audit-options.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

const DAMAGED_STATUS = 1;

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const [expected = null] = parsed.values.get("expect") ?? [];
  if (expected !== null && !/^[0-9a-f]{64}$/.test(expected)) {
    throw new AgentKernelError("invalid_argument", `--expect: "${expected}" is not a hash`, {
      hint: "it is the one that an earlier audit verify printed: 64 digits 0-9a-f",
    });
  }
  const folder = await openAuditFolder(parsed, invocation);
  const begun = beginningsOf(auditBeginningsFile(invocation.env, invocation.homeDir), folder);
  const verdict = await verify(folder, expected, begun);
  if (parsed.flags.has("json")) await writeJson(invocation, { success: true, data: answer(verdict) });
  else
    await writeOut(
      invocation,
      lines(verdict)
        .map((line) => `${escapeText(line)}\n`)
        .join(""),
    );
  return verdict.isWhole ? 0 : DAMAGED_STATUS;
}

function answer({ isWhole, files, lines: count, head, problems, omittedProblems, torn, notes }: Verdict): object {
  return { whole: isWhole, files, lines: count, head, problems, omitted_problems: omittedProblems, torn, notes };
}

function lines(verdict: Verdict): readonly string[] {
  const { isWhole, files, lines: count, head, problems, omittedProblems, torn, notes } = verdict;
  const size = `${count} ${count === 1 ? "line" : "lines"} in ${files} ${files === 1 ? "file" : "files"}`;
  return [
    files === 0 && isWhole ? "nothing has been recorded yet" : `${isWhole ? "whole" : "damaged"}: ${size}`,
    ...problems.map(({ kind, file, line, message }) => `${place(file, line)}${kind}: ${message}`),
    ...(omittedProblems > 0 ? [`${omittedProblems} more problems are not listed`] : []),
    ...(torn === null
      ? []
      : [`${place(torn.file, torn.line)}torn: half a line; its writer is at work or died, and the next one heals it`]),
    ...notes.map((note) => `note: ${note}`),
    ...(head === null ? [] : [`last: number ${head.seq}, hash ${head.hash}`]),
  ];
}

function place(file: string | null, line: number | null): string {
  if (file === null) return "";
  return line === null ? `${file}: ` : `${file}:${line}: `;
}
