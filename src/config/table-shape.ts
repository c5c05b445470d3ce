/** Tables: those whose keys we name, and those whose keys the user names. */
import { nearest } from "../policy/nearest.js";
import type { Located, LocatedEntry } from "./located.js";
import { fail, type JsonSchema, type Reading, type Shape, wrongKind } from "./shapes.js";

export interface Entry<T> {
  readonly shape: Shape<T>;
  /** One line for editors and for readers of the schema. */
  readonly help: string;
  readonly required?: boolean;
  /** Only the user's own file may set it: a project must not. */
  readonly userOnly?: boolean;
  /** It is checked, but nothing uses it in this version. What it is about. */
  readonly later?: string;
}

type AnyEntries = Readonly<Record<string, Entry<unknown>>>;

export type TableValue<E extends AnyEntries> = {
  readonly [K in keyof E]?: E[K] extends Entry<infer T> ? T : never;
};

export function table<E extends AnyEntries>(entries: E): Shape<TableValue<E>> {
  const required = Object.keys(entries).filter((key) => entries[key]?.required);
  return {
    schema: {
      type: "object",
      additionalProperties: false,
      properties: Object.fromEntries(Object.entries(entries).map(([key, entry]) => [key, schemaOf(entry)])),
      ...(required.length > 0 ? { required } : {}),
    },
    read: (node, path, reading) => {
      if (node.kind !== "table") return wrongKind(reading, node, path, "a table");
      for (const key of required) {
        if (!node.entries.has(key)) fail(reading, node, `${inside(path, key)} is missing`, entries[key]?.help);
      }
      const values: [string, unknown][] = [];
      for (const [key, found] of node.entries) {
        const entry = Object.hasOwn(entries, key) ? entries[key] : undefined;
        if (entry === undefined) unknownKey(key, path, found, Object.keys(entries), reading);
        else values.push([key, readEntry(entry, found, inside(path, key), reading)]);
      }
      return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as TableValue<E>;
    },
  };
}

/** A table whose keys are names of the user's, such as agents or registries. */
export function dictionary<T>(
  whyNotKey: (key: string) => string | null,
  item: Shape<T>,
): Shape<ReadonlyMap<string, T>> {
  return {
    schema: { type: "object", additionalProperties: item.schema },
    read: (node, path, reading) => {
      if (node.kind !== "table") return wrongKind(reading, node, path, "a table");
      const values = new Map<string, T>();
      for (const [key, found] of node.entries) {
        const why = whyNotKey(key);
        if (why !== null) reading.faults.push({ ...found.place, message: `${path}: "${key}" ${why}` });
        const value = item.read(found.value, inside(path, key), reading);
        if (value !== undefined) values.set(key, value);
      }
      return values;
    },
  };
}

function readEntry<T>(entry: Entry<T>, found: LocatedEntry, path: string, reading: Reading): T | undefined {
  if (entry.userOnly && reading.owner !== "user") {
    reading.faults.push({
      ...found.place,
      message: `${path} can only be set in the user-wide configuration file`,
      hint: "a project must not decide it: move it to agentkernel/config.toml in your configuration folder",
    });
    return undefined;
  }
  if (entry.later !== undefined) {
    reading.withoutEffect.push({ path, line: found.place.line, concerns: entry.later });
  }
  return entry.shape.read(found.value, path, reading);
}

function unknownKey(
  key: string,
  path: string,
  found: { readonly place: Located["place"] },
  known: readonly string[],
  reading: Reading,
): void {
  const near = nearest(key, known);
  const where = path === "" ? "" : ` in ${path}`;
  const hint = near === null ? `keys${where} are ${known.join(", ")}` : `did you mean ${near}?`;
  reading.faults.push({ ...found.place, message: `there is no key "${key}"${where}`, hint });
}

export function inside(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

function schemaOf({ shape, help, userOnly, later }: Entry<unknown>): JsonSchema {
  const remarks = [
    help,
    ...(userOnly ? ["Only in the user-wide file."] : []),
    ...(later === undefined ? [] : ["Has no effect in this version yet."]),
  ];
  return { ...shape.schema, description: remarks.join(" ") };
}
