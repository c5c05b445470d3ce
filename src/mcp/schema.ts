/** Between plain values, as the protocol has them, and the shapes that fields are described and checked by. */

import type { Json } from "../api/schema/json-text.js";
import type { JsonSchema, Shape } from "../api/schema/shapes.js";
import { AgentKernelError } from "../core/errors.js";

/** Arguments of ours need four. */
const MAX_DEPTH = 32;

/** Objects as maps: no key of the caller's ever becomes a property of anything. */
function jsonOf(value: unknown, depth = 0): Json {
  if (depth > MAX_DEPTH) {
    throw new AgentKernelError("invalid_argument", `the arguments are nested deeper than ${MAX_DEPTH} levels`);
  }
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map((one) => jsonOf(one, depth + 1));
  if (typeof value === "object") {
    return new Map(Object.entries(value).map(([key, inner]) => [key, jsonOf(inner, depth + 1)]));
  }
  throw new AgentKernelError("invalid_argument", `an argument is a ${typeof value}, which JSON does not have`);
}

/** Checked arguments of a tool. The error names the field. */
export function readArguments<T>(shape: Shape<T>, value: unknown): T {
  try {
    return shape.read(jsonOf(value ?? {}), "");
  } catch (error) {
    if (error instanceof AgentKernelError && error.message.startsWith("the body ")) {
      throw new AgentKernelError(error.code, error.message.replace("the body", "arguments"), { cause: error });
    }
    throw error;
  }
}

/** What a model needs not read, and what some clients do not know. It is checked all the same. */
const LEFT_OUT = new Set(["pattern", "propertyNames", "minLength", "maxLength", "maxItems", "examples"]);

type ObjectSchema = JsonSchema & { readonly type: "object" };

/** A schema that stands by itself: what other descriptions refer to by name is written out. */
export function standalone({ schema, named }: Pick<Shape<unknown>, "schema" | "named">): ObjectSchema {
  const expand = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(expand);
    if (typeof value !== "object" || value === null) return value;
    const { $ref: reference, ...rest } = value as Readonly<Record<string, unknown>>;
    const found = typeof reference === "string" ? named[reference.slice(reference.lastIndexOf("/") + 1)] : undefined;
    const kept = Object.entries({ ...found, ...rest }).filter(([key, inner]) => !isLeftOut(key, inner));
    return Object.fromEntries(kept.map(([key, inner]) => [key, expand(inner)]));
  };
  return expand(schema) as ObjectSchema;
}

/** Where the value is itself a schema, the key is the name of a field. */
function isLeftOut(key: string, value: unknown): boolean {
  if (!LEFT_OUT.has(key)) return false;
  return typeof value !== "object" || value === null || Array.isArray(value) || !("description" in value);
}
