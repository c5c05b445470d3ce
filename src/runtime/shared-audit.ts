/**
 * The audit log of what takes little more time than a turn at writing it: in a process that serves many, they share one
 * trail, and what is theirs is written together, within a moment. Where the log is required, each still waits for its
 * own records.
 */
import { AuditTrail, type AuditTrailOptions } from "../audit/index.js";
import type { Policy } from "../core/policy.js";

type Variables = Readonly<Record<string, string | undefined>>;

/** A process writes to one or two logs. */
const MOST_TRAILS = 16;

export class SharedAudit {
  readonly #lingerMs: number;
  readonly #trails = new Map<string, AuditTrail>();
  readonly #secrets = new WeakMap<Variables, WeakMap<Policy, readonly string[]>>();

  /** `lingerMs`: how long a record may wait for others. */
  constructor(lingerMs: number) {
    this.#lingerMs = lingerMs;
  }

  /** Writes buffered records now. */
  writeSoon(): void {
    for (const trail of this.#trails.values()) trail.writeSoon();
  }

  trail(options: AuditTrailOptions): AuditTrail {
    const key = JSON.stringify(options);
    const trail = this.#trails.get(key) ?? new AuditTrail({ ...options, lingerMs: this.#lingerMs });
    if (this.#trails.size >= MOST_TRAILS) this.#trails.clear();
    this.#trails.set(key, trail);
    return trail;
  }

  /** The same list for the same environment and policy, neither of which changes: what hides them is made once. */
  secrets(hostEnv: Variables, policy: Policy, find: () => readonly string[]): readonly string[] {
    const byPolicy = this.#secrets.get(hostEnv) ?? new WeakMap<Policy, readonly string[]>();
    this.#secrets.set(hostEnv, byPolicy);
    const known = byPolicy.get(policy) ?? find();
    byPolicy.set(policy, known);
    return known;
  }
}
