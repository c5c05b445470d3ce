/**
 * src/request/trust owns what a project's own files ask for beyond what the user gives, and what the user decided about
 * it. It decides nothing about policies: it only says who vouches for a project's settings.
 */
import { realpathSync } from "node:fs";
import type { Surroundings } from "../../core/surroundings.js";
import type { AuthorityOrigin } from "../../policy/authority.js";
import { readTrust, type TrustDecision, type TrustRecord, type TrustSubject, writeTrust } from "./record.js";

/** One thing that a project brings, as it is now, and what the user said about it. */
export interface TrustPart {
  readonly subject: TrustSubject;
  readonly sha256: string;
  /** What it asks for that could go beyond what the user gives. */
  readonly lines: readonly string[];
  /** `changed`: there was an answer, about other content. */
  readonly state: "allowed" | "refused" | "changed" | "undecided";
  /** The last answer, whatever it was about. */
  readonly before: TrustDecision | null;
}

export interface ProjectTrust {
  /** The project's real path. */
  readonly dir: string;
  /** Null where there is no file that nobody named. */
  readonly config: TrustPart | null;
  readonly servers: () => TrustPart;
}

export function trustRecordOf({ cwd, env, homeDir }: Surroundings): TrustRecord {
  return readTrust(realFolder(cwd), { env, homeDir });
}

/** A caller over HTTP that names no folder has a project that is not there. */
function realFolder(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return path;
    throw error;
  }
}

export function trustPart(
  { decisions }: TrustRecord,
  subject: TrustSubject,
  sha256: string,
  lines: readonly string[],
): TrustPart {
  const before = decisions[subject] ?? null;
  const state = before === null ? "undecided" : before.sha256 === sha256 ? before.decision : "changed";
  return { subject, sha256, lines, state, before };
}

/** The user's word, where the user gave it. */
export function voucher({ state }: TrustPart): AuthorityOrigin {
  return state === "allowed" ? "answer" : "project-file";
}

/** Remembers one answer about all of these, beside what was decided about others before. */
export function decide(
  { dir }: Pick<ProjectTrust, "dir">,
  parts: readonly TrustPart[],
  decision: TrustDecision["decision"],
  place: Pick<Surroundings, "env" | "homeDir">,
): void {
  const at = new Date().toISOString();
  const decided = parts.map(({ subject, sha256, lines }) => [subject, { sha256, decision, lines, at }] as const);
  const { decisions } = readTrust(dir, place);
  writeTrust({ dir, decisions: { ...decisions, ...Object.fromEntries(decided) } }, place);
}

/** Lines with a sign each: what is asked for anew, what is not asked for any more, and what stays. */
export function changedLines({ lines, before, state }: TrustPart): readonly string[] {
  if (state !== "changed" || before === null) return lines.map((line) => `  ${line}`);
  const gone = before.lines.filter((line) => !lines.includes(line));
  return [
    ...lines.map((line) => `${before.lines.includes(line) ? " " : "+"} ${line}`),
    ...gone.map((line) => `- ${line}`),
  ];
}
