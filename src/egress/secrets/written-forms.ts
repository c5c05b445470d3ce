/** The ways in which a server that echoes what it got may well write a secret, and what stands there instead. Pure. */
import { Buffer } from "node:buffer";

interface WrittenForm {
  readonly real: string;
  readonly inside: string;
}

/** As it is, in a URL, in a JSON string, and within base64 (as of Basic credentials), whatever is around it there. */
export function writtenForms(value: string, placeholder: string): WrittenForm[] {
  const plain = [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)];
  const coded = [0, 1, 2].map((before) => withinBase64(value, before));
  const forms = new Map<string, string>(plain.map((form) => [form, placeholder]));
  for (const form of [...coded, ...coded.map(urlSafe)])
    forms.set(form, placeholder.padEnd(form.length, "*").slice(0, form.length));
  return [...forms].map(([real, inside]) => ({ real, inside }));
}

/** The characters that depend on nothing but the value, where `before` bytes (of three) come before it. */
function withinBase64(value: string, before: number): string {
  const all = Buffer.from(`${"\0".repeat(before)}${value}`, "latin1");
  const first = Math.ceil((before * 8) / 6);
  return all.toString("base64").slice(first, Math.floor((all.length * 8) / 6));
}

const urlSafe = (text: string): string => text.replaceAll("+", "-").replaceAll("/", "_");
