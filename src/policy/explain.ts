/** A resolved policy for people and programs: every field, its value, and the input that set it. */
import type { HideRule, Mount, NetworkRule, SecretBinding } from "../core/policy.js";
import { type FieldPath, type FieldValues, fieldPaths } from "./fields.js";
import { fieldsOf } from "./fields-of.js";
import type { ResolvedPolicy } from "./resolve.js";

export interface ExplainRow {
  readonly field: FieldPath | "image" | "profile" | "mode";
  readonly value: unknown;
  readonly origin: string;
}

export function explain({ policy, origins }: ResolvedPolicy): readonly ExplainRow[] {
  const values = fieldsOf(policy);
  return [
    { field: "profile", value: policy.profile, origin: origins.profile },
    { field: "mode", value: policy.mode, origin: origins.mode },
    ...fieldPaths.map((field) => ({ field, value: redacted(field, values[field]), origin: origins[field] })),
  ];
}

/** Lines of `field  value  (origin)`; lists have one item a line. `makeSafe` makes a text safe to print. */
export function explainText(rows: readonly ExplainRow[], makeSafe: (text: string) => string): string {
  const width = Math.max(...rows.map((row) => row.field.length));
  const lines = rows.flatMap((row) => {
    const items = textsOf(row).map(makeSafe);
    const single = items.length === 1 ? items[0] : items.length === 0 ? "none" : `${items.length} entries`;
    const head = `${row.field.padEnd(width)}  ${single}  (${makeSafe(row.origin)})`;
    return items.length > 1 ? [head, ...items.map((item) => `${" ".repeat(width)}  - ${item}`)] : [head];
  });
  return `${lines.join("\n")}\n`;
}

/** Values of variables may be secrets: only their names are shown. */
function redacted(field: FieldPath, value: FieldValues[FieldPath]): unknown {
  return field === "proc.env" && value !== null ? Object.keys(value) : value;
}

/** What null means where it does not mean "none". */
const nullWords: Readonly<Record<string, string>> = { "proc.commands.allow": "all", "proc.user": "the image's" };

function textsOf({ field, value }: ExplainRow): readonly string[] {
  if (Array.isArray(value)) return value.map((item: Item) => itemText(item));
  return [value === null ? (nullWords[field] ?? "none") : String(value)];
}

type Item = HideRule | Mount | NetworkRule | SecretBinding | string;

function itemText(item: Item): string {
  if (typeof item === "string") return item;
  if ("glob" in item) return hideRuleText(item);
  if ("guest" in item) return `${item.host} at ${item.guest}${item.readonly ? ", read-only" : ""}`;
  if ("header" in item) return `${item.name} for ${item.host} in ${item.header}`;
  if ("preset" in item) return `preset ${item.preset}`;
  const subject = "domain" in item ? item.domain : item.cidr;
  return item.ports ? `${subject}, ports ${item.ports.join(", ")}` : subject;
}

function hideRuleText({ glob, holds, reason, shows }: HideRule): string {
  if (shows) return `${glob} is shown`;
  if (reason === undefined) return glob;
  return holds === undefined ? `${glob} (${reason})` : `${glob} if it holds a ${holds.replace("-", " ")} (${reason})`;
}
