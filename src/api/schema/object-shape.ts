/** Objects: those whose keys we name, and those whose keys the caller names. */
import { nearest } from "../../policy/nearest.js";
import type { Json } from "./json-text.js";
import { type JsonSchema, kindOf, refuse, type Shape } from "./shapes.js";

interface Entry<T, Required extends boolean> {
  readonly shape: Shape<T>;
  readonly required: Required;
  /** One sentence for readers of the description. */
  readonly help: string;
  readonly example?: unknown;
}

export function field<T>(shape: Shape<T>, help: string, example?: unknown): Entry<T, true> {
  return { shape, required: true, help, ...(example === undefined ? {} : { example }) };
}

export function optional<T>(shape: Shape<T>, help: string, example?: unknown): Entry<T, false> {
  return { shape, required: false, help, ...(example === undefined ? {} : { example }) };
}

type Entries = Readonly<Record<string, Entry<unknown, boolean>>>;
type KeysWith<E extends Entries, R extends boolean> = {
  [K in keyof E]: E[K] extends Entry<unknown, R> ? K : never;
}[keyof E];
type InnerOf<E> = E extends Entry<infer T, boolean> ? T : never;

type ObjectValue<E extends Entries> = {
  readonly [K in KeysWith<E, true>]: InnerOf<E[K]>;
} & {
  readonly [K in KeysWith<E, false>]?: InnerOf<E[K]>;
};

/** What callers send: a key that is not known is refused, since what it meant would be silently missing. */
export function object<E extends Entries>(entries: E): Shape<ObjectValue<E>> {
  return shapeOf(entries, false);
}

/** What we answer: later versions may say more. */
export function answerObject<E extends Entries>(entries: E): Shape<ObjectValue<E>> {
  return shapeOf(entries, true);
}

function shapeOf<E extends Entries>(entries: E, isOpen: boolean): Shape<ObjectValue<E>> {
  const all = Object.entries(entries);
  const required = all.filter(([, entry]) => entry.required).map(([key]) => key);
  return {
    schema: {
      type: "object",
      properties: Object.fromEntries(all.map(([key, entry]) => [key, schemaOf(entry)])),
      ...(required.length > 0 ? { required } : {}),
      ...(isOpen ? {} : { additionalProperties: false }),
    },
    named: Object.assign({}, ...all.map(([, { shape }]) => shape.named)),
    read: (value, path) => {
      const map = asMap(value, path);
      // First: a field that is missing is often there under a name that is nearly right.
      const unknown = isOpen ? undefined : [...map.keys()].find((key) => !Object.hasOwn(entries, key));
      if (unknown !== undefined) unknownKey(path, unknown, Object.keys(entries));
      for (const key of required) {
        if (!map.has(key)) refuse(inside(path, key), "is missing", entries[key]?.help);
      }
      const values: [string, unknown][] = [];
      for (const [key, inner] of map) {
        const entry = Object.hasOwn(entries, key) ? entries[key] : undefined;
        if (entry !== undefined) values.push([key, entry.shape.read(inner, inside(path, key))]);
      }
      return Object.fromEntries(values) as ObjectValue<E>;
    },
  };
}

/** An object whose keys are the caller's, such as variables. Values of ours only ever go into its map. */
export function dictionary<T>(
  keys: { readonly pattern: RegExp; readonly expected: string },
  item: Shape<T>,
): Shape<ReadonlyMap<string, T>> {
  return {
    schema: {
      type: "object",
      propertyNames: { pattern: keys.pattern.source },
      additionalProperties: item.schema,
    },
    named: item.named,
    read: (value, path) => {
      const map = asMap(value, path);
      return new Map(
        [...map].map(([key, inner]) => {
          if (!keys.pattern.test(key))
            refuse(path, `has the key ${JSON.stringify(key.slice(0, 100))}, not ${keys.expected}`);
          return [key, item.read(inner, inside(path, key))];
        }),
      );
    },
  };
}

/** Gives a shape a name under which the description, and whoever generates code from it, knows it. */
export function named<T>(name: string, shape: Shape<T>, help?: string): Shape<T> {
  const schema = help === undefined ? shape.schema : { ...shape.schema, description: help };
  return {
    schema: { $ref: `#/components/schemas/${name}` },
    named: { ...shape.named, [name]: schema },
    read: (value, path) => shape.read(value, path),
  };
}

/** An object of which we promise nothing but that it is one. */
export function anyObject(): Shape<Readonly<Record<string, unknown>>> {
  return {
    schema: { type: "object", additionalProperties: true },
    named: {},
    read: (value, path) => Object.fromEntries(asMap(value, path)),
  };
}

function asMap(value: Json, path: string): ReadonlyMap<string, Json> {
  if (value instanceof Map) return value;
  return refuse(path, `is ${kindOf(value)}, not an object`);
}

function unknownKey(path: string, key: string, known: readonly string[]): never {
  const shown = key.slice(0, 100);
  const near = nearest(shown, known);
  return refuse(
    inside(path, shown),
    "is not a field that is known",
    near === null ? `fields are ${known.join(", ")}` : `did you mean ${near}?`,
  );
}

function inside(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

function schemaOf({ shape, help, example }: Entry<unknown, boolean>): JsonSchema {
  // Beside a reference, a description is allowed since OpenAPI 3.1.
  return { ...shape.schema, description: help, ...(example === undefined ? {} : { examples: [example] }) };
}
