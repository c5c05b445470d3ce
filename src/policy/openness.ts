/** Which of two values of a field allows more. Only fields with such an order can have a ceiling. */
import { type NumericPath, numericPaths } from "../settings/index.js";
import type { FieldPath, FieldValues } from "./fields.js";

/** Strictest first. */
const orders = {
  "fs.workspace.mode": ["none", "copy", "sync", "mount"],
  "fs.workspace.readonly": [true, false],
  "fs.home": ["none", "readonly"],
  "fs.rootReadonly": [true, false],
  "net.egress": ["off", "allowlist", "on"],
  "proc.noRoot": [true, false],
  "proc.capabilities": ["none", "default"],
  "proc.seccomp": ["strict", "default"],
  "proc.landlock": ["workspace", "default"],
  "proc.passHostEnv": [false, true],
} as const satisfies { readonly [K in FieldPath]?: readonly FieldValues[K][] };

/** A number allows more the higher it is. */
export type OrderedField = keyof typeof orders | NumericPath;

export function isOrderedField(field: string): field is OrderedField {
  return Object.hasOwn(orders, field) || (numericPaths as readonly string[]).includes(field);
}

/** Higher is more open. No time limit is more open than any. */
export function opennessOf(field: OrderedField, value: unknown): number {
  const order: readonly unknown[] | undefined = Object.hasOwn(orders, field)
    ? orders[field as keyof typeof orders]
    : undefined;
  if (order !== undefined) return order.indexOf(value);
  return typeof value === "number" ? value : Number.POSITIVE_INFINITY;
}

/** The one of two that allows less. */
export function stricter<K extends OrderedField>(field: K, a: FieldValues[K], b: FieldValues[K]): FieldValues[K] {
  return opennessOf(field, a) <= opennessOf(field, b) ? a : b;
}
