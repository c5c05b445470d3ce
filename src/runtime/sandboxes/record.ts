/** What is written down about a kept sandbox: everything that the next process needs to run it again, and no secret's value. */
import type { CopyOrigin } from "../../audit/index.js";
import type { BackendName, ImageSource } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import type { NetworkRules, Policy } from "../../core/policy.js";
import type { Origins } from "../../policy/resolve.js";
import type { PublishedPort } from "../published-ports.js";
import type { ImageDefaults, SearchedPrograms, StoredRoot } from "../root-image.js";
import type { AuditSettings } from "../run-request.js";
import type { Moment } from "./clock.js";
import { migrations, type OldRecord, RECORD_VERSION, withEveryNumber } from "./record-versions.js";

/** The root that it stands on, found once when it was made. */
interface KeptImage {
  readonly name: string;
  readonly why: string;
  readonly digest: string | null;
  readonly source: ImageSource;
  readonly defaults: ImageDefaults | null;
  readonly stored: StoredRoot | null;
  /** Of the host's own programs, as they were when it was made. */
  readonly programs?: SearchedPrograms;
}

export interface SandboxRecord {
  readonly version: typeof RECORD_VERSION;
  /** Unique for ever; names can come again. */
  readonly id: string;
  readonly name: string;
  /** Who made it, for those who serve many: a client sees its own. Null: the user. */
  readonly owner: string | null;
  /** The project of the MCP session that made it, null where that had none. Not there: no such session made it. */
  readonly madeIn?: string | null;
  /** The one that it was made for; not there: the usual one. */
  readonly backend?: BackendName;
  /** Why it is on that one, for people; not there in older records. */
  readonly backendWhy?: string;
  /** What its user should know of that. */
  readonly backendNotes?: readonly string[];
  /** What it began as a copy of, if it did. */
  readonly from?: CopyOrigin;
  readonly created: Moment;
  /** It has run: from then on it is `stopped` when it does not. */
  readonly hasRun: boolean;
  readonly ttlMs: number | null;
  /** From when it counts. */
  readonly ttlFrom: Moment;
  readonly idleTimeoutMs: number | null;
  readonly policy: Policy;
  /** What others than the user may make of its network at most; null, or not there: what the policy says. */
  readonly networkCeiling?: NetworkRules | null;
  /** Counts changes of the policy from 1. */
  readonly policyVersion: number;
  readonly origins: Origins;
  readonly image: KeptImage;
  readonly projectDir: string | null;
  readonly homeDir: string | null;
  readonly workdir: string | null;
  readonly publish: readonly PublishedPort[];
  readonly audit: AuditSettings;
  /** What AGENTKERNEL_AUDIT said where it was made; null: nothing. */
  readonly auditSetting: string | null;
}

/** Rejects what is no record of ours, or one of a version that this one does not know. `name` is its folder's. */
export function parseRecord(text: string, name: string): SandboxRecord {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw damaged(name, "it is not JSON", cause);
  }
  if (!isRecord(value)) throw damaged(name, "it is not an object");
  const { version } = value;
  if (typeof version !== "number" || !Number.isInteger(version) || version < 1)
    throw damaged(name, "it has no version");
  if (version > RECORD_VERSION) {
    throw new AgentKernelError("unsupported", `the sandbox ${name} was written by a newer version of agentkernel`, {
      hint: (wording) => `use that version for it, or remove it with ${wording.forcedRemoval}`,
      details: { found: version, known: RECORD_VERSION },
    });
  }
  const record = migrate(value, version, name);
  const why = whyUnusable(record, name);
  if (why !== null) throw damaged(name, why);
  return record as unknown as SandboxRecord;
}

function migrate(old: OldRecord, version: number, name: string): OldRecord {
  let record = old;
  for (let from = version; from < RECORD_VERSION; from++) {
    const step = migrations.get(from);
    if (step === undefined) throw damaged(name, `there is no way from version ${from} to the present one`);
    record = { ...step(record), version: from + 1 };
  }
  return withEveryNumber(record);
}

/** The file is the user's own, so this finds accidents, not attacks. */
function whyUnusable(record: OldRecord, name: string): string | null {
  const { id, created, ttlFrom, policy, image, publish, origins } = record;
  if (record.name !== name) return "it is about another sandbox";
  if (typeof id !== "string" || id === "") return "it has no id";
  if (!isMoment(created) || !isMoment(ttlFrom)) return "it does not say when the sandbox was made";
  if (!isRecord(policy) || !["fs", "net", "proc", "resources"].every((part) => isRecord(policy[part]))) {
    return "its policy is incomplete";
  }
  if (!isRecord(image) || !isRecord(image.source)) return "it names no image";
  return Array.isArray(publish) && isRecord(origins) ? null : "parts of it are missing";
}

function isRecord(value: unknown): value is OldRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isMoment(value: unknown): boolean {
  return isRecord(value) && ["wallMs", "bootMs"].every((name) => typeof value[name] === "number");
}

function damaged(name: string, why: string, cause?: unknown): AgentKernelError {
  return new AgentKernelError("conflict", `the record of the sandbox ${name} cannot be used: ${why}`, {
    hint: (wording) => `remove the sandbox with ${wording.forcedRemoval}; the others are not concerned`,
    cause,
  });
}
