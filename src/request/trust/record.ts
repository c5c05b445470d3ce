/**
 * What the user decided about a project's own settings, in the state directory: one file for each project, by its real
 * path. A decision is about the content that was shown: other content is undecided again.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { trustFolder } from "../../core/state-folders.js";
import type { Surroundings } from "../../core/surroundings.js";
import { textIfThere } from "../../core/text-if-there.js";

/** `mcp-servers`: the hosts that the project's MCP configuration names. */
const trustSubjects = ["agentkernel.toml", "mcp-servers"] as const;
export type TrustSubject = (typeof trustSubjects)[number];

export interface TrustDecision {
  readonly sha256: string;
  readonly decision: "allowed" | "refused";
  /** What was asked for, as it was shown. */
  readonly lines: readonly string[];
  /** When, in ISO 8601. */
  readonly at: string;
}

export interface TrustRecord {
  /** The project's real path. */
  readonly dir: string;
  readonly decisions: Readonly<Partial<Record<TrustSubject, TrustDecision>>>;
}

type Place = Pick<Surroundings, "env" | "homeDir">;

export function digestOf(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex");
}

/** A record that cannot be understood decides nothing: the project is undecided. */
export function readTrust(dir: string, place: Place): TrustRecord {
  const found = understood(textIfThere(pathOf(dir, place)));
  return found?.dir === dir ? found : { dir, decisions: {} };
}

export function writeTrust(record: TrustRecord, place: Place): void {
  const folder = trustFolder(place.env, place.homeDir);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = join(folder, `.${randomUUID()}`);
  writeFileSync(draft, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600, flag: "wx" });
  renameSync(draft, pathOf(record.dir, place));
}

export function listTrust(place: Place): readonly TrustRecord[] {
  const folder = trustFolder(place.env, place.homeDir);
  return namesIn(folder)
    .filter((name) => name.endsWith(".json"))
    .map((name) => understood(textIfThere(join(folder, name))))
    .filter((record) => record !== null)
    .sort((a, b) => (a.dir < b.dir ? -1 : 1));
}

/** Whether there was a record. */
export function revokeTrust(dir: string, place: Place): boolean {
  const path = pathOf(dir, place);
  if (textIfThere(path) === null) return false;
  rmSync(path);
  return true;
}

function pathOf(dir: string, { env, homeDir }: Place): string {
  return join(trustFolder(env, homeDir), `${digestOf(dir)}.json`);
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

function understood(text: string | null): TrustRecord | null {
  if (text === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const { dir, decisions } = objectOf(value);
  if (typeof dir !== "string") return null;
  const found = trustSubjects.flatMap((subject) => {
    const decision = decisionOf(objectOf(decisions)[subject]);
    return decision === null ? [] : [[subject, decision] as const];
  });
  return { dir, decisions: Object.fromEntries(found) };
}

function decisionOf(value: unknown): TrustDecision | null {
  const { sha256, decision, lines, at } = objectOf(value);
  if (typeof sha256 !== "string" || typeof at !== "string" || !Array.isArray(lines)) return null;
  if (decision !== "allowed" && decision !== "refused") return null;
  return { sha256, decision, at, lines: lines.filter((line) => typeof line === "string") };
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
