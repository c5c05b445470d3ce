/** Reads untrusted JSON field by field. Only own properties count. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** Null where the bytes are no JSON object. */
export function parseJsonObject(bytes: Uint8Array): JsonObject | null {
  try {
    return asObject(JSON.parse(Buffer.from(bytes).toString("utf8")));
  } catch {
    // Whoever asked says what it was meant to be.
    return null;
  }
}

export function asObject(value: unknown): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

export function fieldOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export function textField(object: JsonObject, name: string): string | null {
  const value = fieldOf(object, name);
  return typeof value === "string" ? value : null;
}

/** Null where it is there and is no list of strings; empty where it is not there. */
export function textsField(object: JsonObject, name: string): readonly string[] | null {
  const value = fieldOf(object, name) ?? [];
  return Array.isArray(value) && value.every((item): item is string => typeof item === "string") ? value : null;
}
