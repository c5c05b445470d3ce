/**
 * What a value of a file may be. A shape checks a located value, says what is wrong in words, and knows its own JSON
 * Schema: parser, messages and published schemas are all made from one table.
 */
import { isAgentKernelError } from "../core/errors.js";
import { nearest } from "../policy/nearest.js";
import { inRange, type Range } from "../policy/resources.js";
import type { Fault } from "./faults.js";
import { kindOf, type Located } from "./located.js";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Whose file is read: some keys are the user's alone. */
export type Owner = "user" | "project";

export interface Reading {
  readonly owner: Owner;
  readonly faults: Fault[];
  /** Keys that were understood but do nothing in this version. */
  readonly withoutEffect: { readonly path: string; readonly line: number; readonly concerns: string }[];
}

export interface Shape<T> {
  /** Undefined where there was a fault, which is then in the reading. */
  readonly read: (node: Located, path: string, reading: Reading) => T | undefined;
  readonly schema: JsonSchema;
}

export type ValueOf<S> = S extends Shape<infer T> ? T : never;

/** Adds a fault at the value and gives undefined, for a shape to return. */
export function fail(reading: Reading, node: Located, message: string, hint?: string): undefined {
  reading.faults.push({ ...node.place, message, ...(hint === undefined ? {} : { hint }) });
  return undefined;
}

export function wrongKind(reading: Reading, node: Located, path: string, expected: string): undefined {
  return fail(reading, node, `${path} is ${kindOf(node)}, not ${expected}`, `${path} takes ${expected}`);
}

export function flag(): Shape<boolean> {
  return {
    schema: { type: "boolean" },
    read: (node, path, reading) =>
      node.kind === "scalar" && typeof node.value === "boolean"
        ? node.value
        : wrongKind(reading, node, path, "true or false"),
  };
}

export function number({ min, max, whole }: Pick<Range, "min" | "max" | "whole">): Shape<number> {
  const expected = `a ${whole ? "whole " : ""}number from ${min} to ${max}`;
  return {
    schema: { type: whole ? "integer" : "number", minimum: min, maximum: max },
    read: (node, path, reading) => {
      if (node.kind !== "scalar" || typeof node.value !== "number") return wrongKind(reading, node, path, expected);
      if (inRange(node.value, { min, max, whole })) return node.value;
      return fail(reading, node, `${path} is ${node.value}, not ${expected}`, `${path} takes ${expected}`);
    },
  };
}

export function choice<const T extends string>(values: readonly T[]): Shape<T> {
  const expected = `one of ${values.join(", ")}`;
  return {
    schema: { enum: values },
    read: (node, path, reading) => {
      if (node.kind !== "scalar" || typeof node.value !== "string") return wrongKind(reading, node, path, expected);
      const text = node.value;
      const known = values.find((value) => value === text);
      if (known !== undefined) return known;
      const near = nearest(text, values);
      const hint = near === null ? `${path} takes ${expected}` : `did you mean "${near}"?`;
      return fail(reading, node, `${path}: "${text}" is not ${expected}`, hint);
    },
  };
}

export interface TextRule {
  /** What is wanted, as it follows "takes" and "not". */
  readonly expected: string;
  /** Why the text is none, or null. */
  readonly why?: (text: string) => string | null;
  readonly schema?: JsonSchema;
  /** Words that are likely meant, for the hint. */
  readonly near?: readonly string[];
}

export function text({ expected, why = () => null, schema = {}, near = [] }: TextRule): Shape<string> {
  return {
    schema: { type: "string", ...schema },
    read: (node, path, reading) => {
      if (node.kind !== "scalar" || typeof node.value !== "string") return wrongKind(reading, node, path, expected);
      const reason = why(node.value);
      if (reason === null) return node.value;
      const meant = nearest(node.value, near);
      const hint = meant === null ? `${path} takes ${expected}` : `did you mean "${meant}"?`;
      return fail(reading, node, `${path}: "${node.value}" is not ${expected}: ${reason}`, hint);
    },
  };
}

/** A text that a parser of the command line understands too, such as `512m`. */
export function parsedText(
  expected: string,
  pattern: string,
  parse: (field: string, text: string) => number,
): Shape<number> {
  return {
    schema: { type: "string", pattern },
    read: (node, path, reading) => {
      if (node.kind !== "scalar" || typeof node.value !== "string") return wrongKind(reading, node, path, expected);
      try {
        return parse(path, node.value);
      } catch (error) {
        if (!isAgentKernelError(error)) throw error;
        return fail(reading, node, error.message, error.hint);
      }
    },
  };
}

export function list<T>(item: Shape<T>, { minItems = 0 } = {}): Shape<readonly T[]> {
  return {
    schema: { type: "array", items: item.schema, ...(minItems > 0 ? { minItems } : {}) },
    read: (node, path, reading) => {
      if (node.kind !== "list") return wrongKind(reading, node, path, "a list");
      if (node.items.length < minItems) return fail(reading, node, `${path} is an empty list`);
      const values = node.items.map((one, index) => item.read(one, `${path}[${index}]`, reading));
      return values.some((value) => value === undefined) ? undefined : (values as T[]);
    },
  };
}

/** Refines what a shape has read; `turn` gives a reason instead where it is not right after all. */
export function turned<S, T>(shape: Shape<S>, turn: (value: S) => { readonly value: T } | string): Shape<T> {
  return {
    schema: shape.schema,
    read: (node, path, reading) => {
      const before = shape.read(node, path, reading);
      if (before === undefined) return undefined;
      const after = turn(before);
      return typeof after === "string" ? fail(reading, node, `${path}: ${after}`) : after.value;
    },
  };
}
