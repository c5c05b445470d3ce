/**
 * The text of a request's body into a value. Our own because JSON.parse takes a key that is there twice, and makes
 * `__proto__` a key like any other of an object that has a prototype: here objects are maps.
 */
import { AgentKernelError } from "../../core/errors.js";

export type Json = string | number | boolean | null | readonly Json[] | JsonMap;
type JsonMap = ReadonlyMap<string, Json>;

/** Bodies of ours need six. */
const MAX_DEPTH = 32;

const SPACE = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const HALF = /\p{Surrogate}/u;

export function parseJson(bytes: Uint8Array): Json {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw notJson("it is not UTF-8 text", { cause });
  }
  const reader = new JsonReader(text);
  const value = reader.value(0);
  reader.end();
  return value;
}

class JsonReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): Json {
    if (depth > MAX_DEPTH) throw notJson(`it is nested deeper than ${MAX_DEPTH} levels`);
    this.#take(SPACE);
    const next = this.#text[this.#at];
    if (next === "{") return this.#entries(depth + 1);
    if (next === "[") return this.#items(depth + 1);
    if (next === '"') return this.#string();
    const number = this.#take(NUMBER);
    if (number !== null) return this.#finite(number);
    const word = this.#take(WORD);
    if (word === null) throw this.#fault("a value is expected");
    return word === "null" ? null : word === "true";
  }

  end(): void {
    this.#take(SPACE);
    if (this.#at < this.#text.length) throw this.#fault("there is something after its end");
  }

  #entries(depth: number): JsonMap {
    const entries = new Map<string, Json>();
    this.#at++;
    if (this.#skip("}")) return entries;
    do {
      this.#take(SPACE);
      if (this.#text[this.#at] !== '"') throw this.#fault("a key in double quotes is expected");
      const key = this.#string();
      if (entries.has(key))
        throw notJson(`the key ${JSON.stringify(key.slice(0, 100))} is there twice`, { field: key });
      if (!this.#skip(":")) throw this.#fault("a colon is expected");
      entries.set(key, this.value(depth));
    } while (this.#skip(","));
    if (!this.#skip("}")) throw this.#fault("a comma or } is expected");
    return entries;
  }

  #items(depth: number): readonly Json[] {
    const items: Json[] = [];
    this.#at++;
    if (this.#skip("]")) return items;
    do items.push(this.value(depth));
    while (this.#skip(","));
    if (!this.#skip("]")) throw this.#fault("a comma or ] is expected");
    return items;
  }

  /** From quote to quote; what is between is for JSON.parse, which knows escapes and takes megabytes in its stride. */
  #string(): string {
    const start = this.#at;
    let end = start;
    do {
      end = this.#text.indexOf('"', end + 1);
      if (end < 0) throw this.#fault("a text has no end");
    } while (this.#isEscaped(start, end));
    this.#at = end + 1;
    let text: string;
    try {
      text = JSON.parse(this.#text.slice(start, end + 1));
    } catch {
      this.#at = start;
      throw this.#fault("a text has an escape or a control character that JSON does not allow");
    }
    if (HALF.test(text)) throw notJson(`half a character stands in the text at position ${start + 1}`);
    return text;
  }

  #isEscaped(start: number, quote: number): boolean {
    let before = quote - 1;
    while (before > start && this.#text[before] === "\\") before--;
    return (quote - before) % 2 === 0;
  }

  #finite(token: string): number {
    const value = Number(token);
    if (!Number.isFinite(value)) throw notJson(`the number ${token.slice(0, 40)} is too large`);
    return value;
  }

  #skip(character: string): boolean {
    this.#take(SPACE);
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #take(token: RegExp): string | null {
    token.lastIndex = this.#at;
    const [found] = token.exec(this.#text) ?? [];
    if (found === undefined) return null;
    this.#at += found.length;
    return found;
  }

  #fault(message: string): AgentKernelError {
    return notJson(`${message} at position ${this.#at + 1}`);
  }
}

function notJson(why: string, { field = "body", cause }: { field?: string; cause?: unknown } = {}): AgentKernelError {
  return new AgentKernelError("invalid_argument", `the body is no JSON that is accepted: ${why}`, {
    hint: "send one JSON object, as UTF-8, each key once",
    details: { field },
    ...(cause === undefined ? {} : { cause }),
  });
}
