/**
 * JSON from the guest, read member by member. Every reader looks at own members only (`__proto__` and the like are
 * plain data here), bounds what it returns, and throws a GuestViolation where the type is not the one that is due.
 */
import { type Buffer, isUtf8 } from "node:buffer";
import { GuestViolation } from "./violation.js";

export type JsonObject = Readonly<Record<string, unknown>>;

export function parseJsonObject(bytes: Buffer): JsonObject {
  if (!isUtf8(bytes)) throw new GuestViolation("bad-json", "a payload that is not UTF-8");
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    // The parser's own message quotes the guest's bytes; nothing of it is worth passing on.
    throw new GuestViolation("bad-json", "a payload that is not JSON");
  }
  if (!isObject(value)) throw new GuestViolation("bad-json", "a payload that is not a JSON object");
  return value;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function member(body: JsonObject, name: string): unknown {
  return Object.hasOwn(body, name) ? body[name] : undefined;
}

export function integerMember(body: JsonObject, name: string, min: number, max: number): number {
  const value = member(body, name);
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < min || value > max) throw badMember(name);
  return value;
}

export function integerOrNullMember(body: JsonObject, name: string, min: number, max: number): number | null {
  return member(body, name) === null ? null : integerMember(body, name, min, max);
}

export function stringMember(body: JsonObject, name: string, maxLength: number): string {
  const value = member(body, name);
  if (typeof value !== "string" || value.length > maxLength) throw badMember(name);
  return value;
}

export function objectMember(body: JsonObject, name: string): JsonObject {
  const value = member(body, name);
  if (!isObject(value)) throw badMember(name);
  return value;
}

/** Absent counts as empty. */
export function objectListMember(body: JsonObject, name: string, maxItems: number): readonly JsonObject[] {
  const value = member(body, name);
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > maxItems) throw badMember(name);
  return value.map((item: unknown) => {
    if (!isObject(item)) throw badMember(name);
    return item;
  });
}

export function stringListMember(body: JsonObject, name: string, maxItems: number, maxLength: number): string[] {
  const value = member(body, name);
  if (!Array.isArray(value) || value.length > maxItems) throw badMember(name);
  return value.map((item: unknown) => {
    if (typeof item !== "string" || item.length > maxLength) throw badMember(name);
    return item;
  });
}

/** Absent counts as false; anything but a boolean is a violation. */
export function flagMember(body: JsonObject, name: string): boolean {
  const value = member(body, name);
  if (value === undefined) return false;
  if (typeof value !== "boolean") throw badMember(name);
  return value;
}

export function badMember(name: string): GuestViolation {
  return new GuestViolation("bad-member", `a JSON payload whose "${name}" is missing or wrong`);
}
