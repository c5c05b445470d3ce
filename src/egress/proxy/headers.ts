/** Header fields that belong to one hop and do not travel on (RFC 9110, 7.6.1). */

const ownHop = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);

export type Field = readonly [name: string, value: string];

export function fieldsOf(rawHeaders: readonly string[]): Field[] {
  return Array.from({ length: rawHeaders.length / 2 }, (_, i) => [
    rawHeaders[2 * i] ?? "",
    rawHeaders[2 * i + 1] ?? "",
  ]);
}

/** Without the fields of the hop, and those that its Connection field names. */
export function endToEnd(fields: readonly Field[]): Field[] {
  const named = new Set(valuesOf(fields, "connection").flatMap((value) => value.toLowerCase().split(/[\s,]+/)));
  return fields.filter(([name]) => !ownHop.has(name.toLowerCase()) && !named.has(name.toLowerCase()));
}

export function valuesOf(fields: readonly Field[], name: string): string[] {
  return fields.filter(([other]) => other.toLowerCase() === name).map(([, value]) => value);
}

/** As Node's HTTP takes them, each name once. */
export function asRecord(fields: readonly Field[]): Record<string, string[]> {
  const record: Record<string, string[]> = Object.create(null);
  for (const [name, value] of fields) {
    const known = record[name.toLowerCase()];
    if (known === undefined) record[name.toLowerCase()] = [value];
    else known.push(value);
  }
  return record;
}
