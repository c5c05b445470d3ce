/** Which of two values of a field allows more. Only fields with such an order can have a ceiling. */
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
const measured = [
  "fs.tmpMiB",
  "resources.vcpus",
  "resources.memoryMiB",
  "resources.pids",
  "resources.diskMiB",
  "resources.openFiles",
  "resources.timeoutMs",
  "resources.outputMiB",
] as const satisfies readonly FieldPath[];

export type OrderedField = keyof typeof orders | (typeof measured)[number];

export function isOrderedField(field: string): field is OrderedField {
  return Object.hasOwn(orders, field) || (measured as readonly string[]).includes(field);
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
