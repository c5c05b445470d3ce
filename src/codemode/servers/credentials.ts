/**
 * What servers identify themselves with must not cross the wall, even where a tool's result has it in it, as one that
 * shows its environment or reads the file with the entries. Known are exact values; what a server encodes is not.
 */
import { secretValues } from "../../core/secret-names.js";
import type { ServerEntry } from "./entries.js";

type Env = Readonly<Record<string, string | undefined>>;

/** `env`: what every server that is started inherits. */
export function credentialsOf(entries: readonly ServerEntry[], env: Env): readonly string[] {
  const own = entries.flatMap((entry) =>
    entry.kind === "stdio"
      ? secretValues(entry.env)
      : secretValues(entry.headers).flatMap((value) => [value, value.replace(/^(?:Bearer|Basic|Token)\s+/i, "")]),
  );
  return [...new Set([...own, ...secretValues(env)])].sort((a, b) => b.length - a.length);
}

/** Takes them out of a text, be it plain or JSON. */
export function concealer(credentials: readonly string[]): (text: string) => string {
  const forms = [...new Set(credentials.flatMap((one) => [one, JSON.stringify(one).slice(1, -1)]))];
  return (text) =>
    forms.reduce((left, form) => (left.includes(form) ? left.replaceAll(form, "[redacted]") : left), text);
}
