/** A resolved policy for people and programs: every field, its value, and the input that set it. */
import type { HideRule, Mount, NetworkRule, SecretBinding } from "../core/policy.js";
import type { AuthorityOrigin } from "./authority.js";
import { type FieldPath, type FieldValues, fieldPaths } from "./fields.js";
import { fieldsOf } from "./fields-of.js";
import type { ResolvedPolicy } from "./resolve.js";

export interface ExplainRow {
  readonly field: FieldPath | "image" | "profile" | "mode" | "hidden";
  readonly value: unknown;
  readonly origin: string;
  /** Who set it: a flag, the user's file, a project's file, ... */
  readonly authority?: readonly AuthorityOrigin[];
  /** What somebody who is not the user asked for beyond it, and did not get. */
  readonly refused?: { readonly asked: unknown; readonly by: readonly string[] };
}

export function explain({ policy, origins, authorities, refused }: ResolvedPolicy): readonly ExplainRow[] {
  const values = fieldsOf(policy);
  return [
    { field: "profile", value: policy.profile, origin: origins.profile },
    { field: "mode", value: policy.mode, origin: origins.mode },
    ...fieldPaths.map((field) => ({
      field,
      value: redacted(field, values[field]),
      origin: origins[field],
      authority: [...new Set(authorities[field].map((one) => one.origin))],
      ...refusedIn(field, refused),
    })),
  ];
}

function refusedIn(field: FieldPath, refused: ResolvedPolicy["refused"]): Pick<ExplainRow, "refused"> {
  const found = refused.find((one) => one.field === field);
  if (found === undefined) return {};
  return { refused: { asked: found.asked, by: found.by.map(({ name, namedIn }) => namedIn ?? name) } };
}

/** Lines of `field  value  (origin)`; lists have one item a line. `makeSafe` makes a text safe to print. */
export function explainText(rows: readonly ExplainRow[], makeSafe: (text: string) => string): string {
  const width = Math.max(...rows.map((row) => row.field.length));
  const lines = rows.flatMap((row) => {
    const items = valueTexts(row.field, row.value).map(makeSafe);
    const single = items.length === 1 ? items[0] : items.length === 0 ? "none" : `${items.length} entries`;
    const head = `${row.field.padEnd(width)}  ${single}  (${makeSafe(row.origin)})`;
    const below = items.length > 1 ? items.map((item) => `- ${item}`) : [];
    return [head, ...[...below, ...refusedTexts(row, makeSafe)].map((line) => `${" ".repeat(width)}  ${line}`)];
  });
  return `${lines.join("\n")}\n`;
}

function refusedTexts({ field, refused }: ExplainRow, makeSafe: (text: string) => string): readonly string[] {
  if (refused === undefined) return [];
  const asked = valueTexts(field, refused.asked).join(", ");
  return [makeSafe(`refused: ${asked}, asked for by ${refused.by.join(", ")}; only your own words widen it`)];
}

/** Values of variables may be secrets: only their names are shown. */
function redacted(field: FieldPath, value: FieldValues[FieldPath]): unknown {
  return field === "proc.env" && value !== null ? Object.keys(value) : value;
}

/** What null means where it does not mean "none". */
const nullWords: Readonly<Record<string, string>> = { "proc.commands.allow": "all", "proc.user": "the image's" };

/** A value of a field for people; of a list one text for each entry. */
export function valueTexts(field: string, value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.map((item: Item) => itemText(item));
  return [value === null ? (nullWords[field] ?? "none") : String(value)];
}

interface HiddenPath {
  readonly path: string;
  readonly reason: string;
}

type Item = HiddenPath | HideRule | Mount | NetworkRule | SecretBinding | string;

function itemText(item: Item): string {
  if (typeof item === "string") return item;
  if ("path" in item) return `${item.path} (${item.reason})`;
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
