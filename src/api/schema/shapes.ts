/**
 * What a value of a request or an answer may be. A shape checks a value and names the field that is wrong; its schema is
 * what the published description says of it. So what is promised and what is checked cannot differ.
 */
import { AgentKernelError } from "../../core/errors.js";
import { nearest } from "../../policy/nearest.js";
import type { Json } from "./json-text.js";

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Shape<T> {
  readonly schema: JsonSchema;
  /** Schemas of named shapes within, by name. */
  readonly named: Readonly<Record<string, JsonSchema>>;
  /** Throws `invalid_argument` with the field's name. */
  read(value: Json, field: string): T;
}

export type ValueOf<S> = S extends Shape<infer T> ? T : never;

export function refuse(field: string, message: string, hint?: string): never {
  throw new AgentKernelError("invalid_argument", `${field === "" ? "the body" : field} ${message}`, {
    ...(hint === undefined ? {} : { hint }),
    details: { field: field === "" ? "body" : field },
  });
}

export function kindOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  if (typeof value === "string") return "a text";
  return typeof value === "number" ? "a number" : "true or false";
}

function wrongKind(value: Json, field: string, expected: string): never {
  return refuse(
    field,
    `is ${kindOf(value)}, not ${expected}`,
    `${field === "" ? "the body" : field} takes ${expected}`,
  );
}

export function flag(): Shape<boolean> {
  return {
    schema: { type: "boolean" },
    named: {},
    read: (value, field) => (typeof value === "boolean" ? value : wrongKind(value, field, "true or false")),
  };
}

interface NumberRule {
  readonly min?: number;
  readonly max?: number;
}

export function number(rule: NumberRule = {}, whole = false): Shape<number> {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = rule;
  const range = rule.min === undefined ? "" : ` from ${min}${rule.max === undefined ? "" : ` to ${max}`}`;
  const expected = `a ${whole ? "whole " : ""}number${range}`;
  return {
    schema: {
      type: whole ? "integer" : "number",
      ...(rule.min === undefined ? {} : { minimum: min }),
      ...(rule.max === undefined ? {} : { maximum: max }),
    },
    named: {},
    read: (value, field) => {
      if (typeof value !== "number") return wrongKind(value, field, expected);
      if (value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
      return refuse(field, `is ${value}, not ${expected}`, `${field} takes ${expected}`);
    },
  };
}

export function whole(rule: NumberRule = {}): Shape<number> {
  return number(rule, true);
}

export function choice<const T extends string>(values: readonly T[]): Shape<T> {
  const expected = `one of ${values.join(", ")}`;
  return {
    schema: { type: "string", enum: values },
    named: {},
    read: (value, field) => {
      if (typeof value !== "string") return wrongKind(value, field, expected);
      const known = values.find((one) => one === value);
      if (known !== undefined) return known;
      const near = nearest(value, values);
      return refuse(
        field,
        `is ${quoted(value)}, not ${expected}`,
        near === null ? `${field} takes ${expected}` : `did you mean "${near}"?`,
      );
    },
  };
}

export interface TextRule {
  /** What is wanted, as it follows "takes" and "not". */
  readonly expected?: string;
  readonly pattern?: RegExp;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly schema?: JsonSchema;
}

export function text(rule: TextRule = {}): Shape<string> {
  const { expected = "a text", pattern, minLength, maxLength, schema } = rule;
  return {
    schema: {
      type: "string",
      ...(pattern === undefined ? {} : { pattern: pattern.source }),
      ...(minLength === undefined ? {} : { minLength }),
      ...(maxLength === undefined ? {} : { maxLength }),
      ...schema,
    },
    named: {},
    read: (value, field) => {
      if (typeof value !== "string") return wrongKind(value, field, expected);
      if (value.length < (minLength ?? 0)) return refuse(field, "is empty", `${field} takes ${expected}`);
      if (maxLength !== undefined && value.length > maxLength && [...value].length > maxLength) {
        return refuse(field, `has more than ${maxLength} characters`);
      }
      if (pattern === undefined || pattern.test(value)) return value;
      return refuse(field, `is ${quoted(value)}, not ${expected}`, `${field} takes ${expected}`);
    },
  };
}

/** Values of others are shown short: a body may be megabytes. */
function quoted(value: string): string {
  return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value);
}

interface ListRule {
  readonly minItems?: number;
  readonly maxItems?: number;
}

export function list<T>(item: Shape<T>, { minItems = 0, maxItems }: ListRule = {}): Shape<readonly T[]> {
  return {
    schema: {
      type: "array",
      items: item.schema,
      ...(minItems > 0 ? { minItems } : {}),
      ...(maxItems === undefined ? {} : { maxItems }),
    },
    named: item.named,
    read: (value, field) => {
      if (!Array.isArray(value)) return wrongKind(value, field, "a list");
      if (value.length < minItems) return refuse(field, "is an empty list", `${field} takes at least ${minItems}`);
      if (maxItems !== undefined && value.length > maxItems) return refuse(field, `has more than ${maxItems} items`);
      return value.map((one, index) => item.read(one, `${field}[${index}]`));
    },
  };
}

export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  const { type } = shape.schema;
  const withNull =
    typeof type === "string" && !("enum" in shape.schema)
      ? { ...shape.schema, type: [type, "null"] }
      : { anyOf: [shape.schema, { type: "null" }] };
  return {
    schema: withNull,
    named: shape.named,
    read: (value, field) => (value === null ? null : shape.read(value, field)),
  };
}

/** The first that fits; where none does, the one for this kind of value says what is wrong. */
export function oneOf<T>(expected: string, byKind: Readonly<Record<string, Shape<T>>>): Shape<T> {
  const shapes = Object.values(byKind);
  return {
    schema: { anyOf: shapes.map(({ schema }) => schema) },
    named: Object.assign({}, ...shapes.map(({ named }) => named)),
    read: (value, field) => {
      const shape = byKind[kindOf(value)];
      return shape === undefined ? wrongKind(value, field, expected) : shape.read(value, field);
    },
  };
}
