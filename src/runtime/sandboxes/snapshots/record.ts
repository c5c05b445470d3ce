/** What is written down about a snapshot: its sandbox's own record as it was, and where the copy came from. */
import type { BackendName } from "../../../core/backend.js";
import { AgentKernelError } from "../../../core/errors.js";
import { parseRecord, type SandboxRecord } from "../record.js";

const VERSION = 1;

export interface SnapshotRecord {
  readonly version: typeof VERSION;
  /** Unique for ever; names can come again. */
  readonly id: string;
  readonly name: string;
  /** Whose it is: the one who asked for it. Null: the user. */
  readonly owner: string | null;
  readonly createdAtMs: number;
  readonly backend: BackendName;
  /** Of the files' contents; null where the backend cannot tell. */
  readonly bytes: number | null;
  /** What it had in memory is in it; not there: files alone. */
  readonly memory?: boolean;
  /** Of the sandbox, as it was. */
  readonly sandbox: SandboxRecord;
}

export function snapshotRecord(fields: Omit<SnapshotRecord, "version">): SnapshotRecord {
  return { version: VERSION, ...fields };
}

/** Rejects what is no record of ours, or one of a version that this one does not know. `name` is its folder's. */
export function parseSnapshotRecord(text: string, name: string): SnapshotRecord {
  const record = parsed(text, name) as Partial<SnapshotRecord> | null;
  if (typeof record !== "object" || record === null) throw damaged(name, "it is not an object");
  if (record.version !== VERSION) throw damaged(name, "it has a version that this one does not know");
  const { id, createdAtMs, sandbox, memory = false } = record;
  if (record.name !== name) throw damaged(name, "it is about another snapshot");
  if (typeof id !== "string" || id === "" || typeof createdAtMs !== "number") throw damaged(name, "parts are missing");
  if (typeof memory !== "boolean") throw damaged(name, "it does not say whether it has memory");
  if (typeof sandbox !== "object" || sandbox === null) throw damaged(name, "it does not say what sandbox it is of");
  return { ...(record as SnapshotRecord), sandbox: parseRecord(JSON.stringify(sandbox), sandbox.name) };
}

function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw damaged(name, "it is not JSON", cause);
  }
}

function damaged(name: string, why: string, cause?: unknown): AgentKernelError {
  return new AgentKernelError("conflict", `the record of the snapshot ${name} cannot be used: ${why}`, {
    hint: `agentkernel snapshots remove ${name} removes it; the others are not concerned`,
    cause,
  });
}
