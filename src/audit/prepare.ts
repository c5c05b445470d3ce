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
  return cleaned(fields, redactor, { left: MOST_CHARS }) as object;
}

/** Values that another type of line needs in another form. Commands and messages are text, where every rule applies. */
function shaped(event: AuditEvent, redactor: Redactor): Readonly<Record<string, unknown>> {
  switch (event.type) {
    case "sandbox.create":
    case "sandbox.start":
      return { ...event, policy: policySummary(event.policy), project: textOrNull(event.project, redactor) };
    case "policy.change":
      return { ...event, policy: policySummary(event.policy), change: redactor.text(event.change) };
    case "exec.start":
      return { ...event, argv: redactor.argv(event.argv), cwd: redactor.text(event.cwd) };
    case "tool":
    case "exec.end":
      return event.error === undefined ? { ...event } : { ...event, error: redactor.text(event.error) };
    case "sandbox.failed":
    case "snapshot.failed":
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
      held: carried.held,
      heldAs: carried.heldAs,
      omitted: carried.omitted,
      repositories: carried.repositories,
    },
  };
}

function policySummary(policy: Policy): object {
  const { profile, mode, net, fs } = policy;
  return { digest: policyDigest(policy), profile, mode, network: net.egress, workspace: fs.workspace.mode };
}

/** Policies are frozen, and many runs share one. */
const digests = new WeakMap<Policy, string>();

/** Values of variables are left out, since a short secret could be guessed from a digest. */
export function policyDigest(policy: Policy): string {
  const known = digests.get(policy) ?? digestOf(policy);
  digests.set(policy, known);
  return known;
}

function digestOf(policy: Policy): string {
  const proc = { ...policy.proc, env: Object.keys(policy.proc.env).sort() };
  return `sha256:${sha256(JSON.stringify({ ...policy, proc }))}`;
}

/** Cut after redaction, never before: half a secret is not recognised. */
function cleaned(value: unknown, redactor: Redactor, budget: { left: number }): unknown {
  if (typeof value === "string") {
    const text = redactor.value(value);
    const most = Math.min(MOST_CHARS_EACH, budget.left);
    budget.left -= Math.min(text.length, most);
    return text.length <= most ? text : `${text.slice(0, most)}… (${text.length - most} more)`;
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const kept: unknown[] = [];
    for (const item of value) {
      if (budget.left <= 0 || kept.length === MOST_ITEMS) break;
      kept.push(cleaned(item, redactor, budget));
    }
    return kept.length === value.length ? kept : [...kept, `… (${value.length - kept.length} more)`];
  }
  const fields: Record<string, unknown> = {};
  const all = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(all)) fields[name] = cleaned(all[name], redactor, budget);
  return fields;
}
