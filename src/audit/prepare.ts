/** Events into records: secrets taken out, sizes bounded, policies turned into digests. Pure. */
import type { Policy } from "../core/policy.js";
import type { Redactor } from "../core/redact.js";
import type { AuditEvent, SandboxEnded } from "./events.js";
import { sha256 } from "./line.js";

/** Of all text in one record, and of one piece of it. */
const MOST_CHARS = 32 * 1024;
const MOST_CHARS_EACH = 4096;
const MOST_ITEMS = 256;

export function recordFields(event: AuditEvent, redactor: Redactor): object {
  const { type: _, ...fields } = shaped(event, redactor);
  return bounded(redactDeep(fields, redactor), { left: MOST_CHARS }) as object;
}

/** Values that another type of line needs in another form. Commands and messages are text, where every rule applies. */
function shaped(event: AuditEvent, redactor: Redactor): Readonly<Record<string, unknown>> {
  switch (event.type) {
    case "sandbox.start":
      return { ...event, policy: policySummary(event.policy), project: textOrNull(event.project, redactor) };
    case "policy.change":
      return { ...event, policy: policySummary(event.policy), change: redactor.text(event.change) };
    case "exec.start":
      return { ...event, argv: redactor.argv(event.argv), cwd: redactor.text(event.cwd) };
    case "exec.end":
      return event.error === undefined ? { ...event } : { ...event, error: redactor.text(event.error) };
    case "sandbox.failed":
      return { ...event, message: redactor.text(event.message) };
    case "sandbox.end":
      return { ...event, end: endSummary(event.end) };
    default:
      return { ...event };
  }
}

function textOrNull(text: string | null, redactor: Redactor): string | null {
  return text === null ? null : redactor.text(text);
}

/** The lists of carried files can be long; how many there were says what the log has to say. */
function endSummary(end: SandboxEnded["end"]): object | null {
  if (end === null) return null;
  const { carried, ...rest } = end;
  if (carried === null) return { ...rest, carried: null };
  const count = ({ length }: readonly string[]) => length;
  return {
    ...rest,
    carried: {
      written: count(carried.written),
      deleted: count(carried.deleted),
      conflicts: carried.conflicts,
      refused: carried.refused,
      omitted: carried.omitted,
    },
  };
}

function policySummary(policy: Policy): object {
  const { profile, mode, net, fs } = policy;
  return { digest: policyDigest(policy), profile, mode, network: net.egress, workspace: fs.workspace.mode };
}

/**
 * The same for the same policy, whatever the order of its fields. Values of variables are left out, since a short
 * secret could be guessed from a digest.
 */
export function policyDigest(policy: Policy): string {
  const proc = { ...policy.proc, env: Object.keys(policy.proc.env).sort() };
  return `sha256:${sha256(JSON.stringify(sorted({ ...policy, proc })))}`;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, field]) => [name, sorted(field)]));
}

function redactDeep(value: unknown, redactor: Redactor): unknown {
  if (typeof value === "string") return redactor.value(value);
  if (Array.isArray(value)) return value.map((item) => redactDeep(item, redactor));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, redactDeep(field, redactor)]));
}

/** After redaction, never before: half a secret is not recognised. */
function bounded(value: unknown, budget: { left: number }): unknown {
  if (typeof value === "string") {
    const most = Math.min(MOST_CHARS_EACH, budget.left);
    budget.left -= Math.min(value.length, most);
    return value.length <= most ? value : `${value.slice(0, most)}… (${value.length - most} more)`;
  }
  if (Array.isArray(value)) {
    const kept: unknown[] = [];
    for (const item of value.slice(0, MOST_ITEMS)) {
      if (budget.left <= 0) break;
      kept.push(bounded(item, budget));
    }
    return kept.length === value.length ? kept : [...kept, `… (${value.length - kept.length} more)`];
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, bounded(field, budget)]));
}
