/** Between the words of the API, which are written_so, and those of this language, which are writtenSo. */

/** Their keys are the caller's own, and stay as they are. */
const OWN_KEYS = new Set(["env", "labels", "details"]);

export function toWire(options: object): Record<string, unknown> {
  const wire: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (key === "stdin" && value instanceof Uint8Array) {
      wire.stdin = toBase64(value);
      wire.stdin_encoding = "base64";
    } else {
      wire[snake(key)] = isRecord(value) && !OWN_KEYS.has(key) ? toWire(value) : value;
    }
  }
  return wire;
}

export function fromWire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromWire);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [camel(key), OWN_KEYS.has(key) ? inner : fromWire(inner)]),
  );
}

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let start = 0; start < bytes.length; start += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  }
  return btoa(text);
}

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function snake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function camel(key: string): string {
  return key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
