/** JSON text into located values. Our own because JSON.parse tells neither places nor keys that are there twice. */
import { TextFault } from "./faults.js";
import type { Located, LocatedEntry, Place } from "./located.js";

const SPACE = /[ \t\r\n]*/y;
const STRING = /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;

/** Nesting is bounded by whoever hands the text in. */
export function locateJson(text: string): Located {
  const reader = new JsonReader(text);
  const value = reader.value();
  reader.end();
  return value;
}

class JsonReader {
  readonly #text: string;
  #at = 0;
  /** The line of #at and where it starts: places are asked for in rising order. */
  #line = 1;
  #lineStart = 0;
  #counted = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): Located {
    this.#take(SPACE);
    const place = this.#place();
    const next = this.#text[this.#at];
    if (next === "{") return { kind: "table", place, entries: this.#entries() };
    if (next === "[") return { kind: "list", place, items: this.#items() };
    const token = this.#take(STRING) ?? this.#take(NUMBER) ?? this.#take(WORD);
    if (token === null) throw this.#fault("a value is expected here");
    return { kind: "scalar", place, value: JSON.parse(token) };
  }

  end(): void {
    this.#take(SPACE);
    if (this.#at < this.#text.length) throw this.#fault("there is something after its end");
  }

  #entries(): ReadonlyMap<string, LocatedEntry> {
    const entries = new Map<string, LocatedEntry>();
    this.#at++;
    if (this.#skip("}")) return entries;
    do {
      this.#take(SPACE);
      const place = this.#place();
      const token = this.#take(STRING);
      if (token === null) throw this.#fault("a key in double quotes is expected here");
      const key: string = JSON.parse(token);
      if (entries.has(key)) throw new TextFault({ ...place, message: `the key "${key}" is there twice` });
      if (!this.#skip(":")) throw this.#fault("a colon is expected here");
      entries.set(key, { place, value: this.value() });
    } while (this.#skip(","));
    if (!this.#skip("}")) throw this.#fault("a comma or } is expected here");
    return entries;
  }

  #items(): readonly Located[] {
    const items: Located[] = [];
    this.#at++;
    if (this.#skip("]")) return items;
    do items.push(this.value());
    while (this.#skip(","));
    if (!this.#skip("]")) throw this.#fault("a comma or ] is expected here");
    return items;
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

  #place(): Place {
    for (; this.#counted < this.#at; this.#counted++) {
      if (this.#text[this.#counted] !== "\n") continue;
      this.#line++;
      this.#lineStart = this.#counted + 1;
    }
    return { line: this.#line, column: this.#at - this.#lineStart + 1 };
  }

  #fault(message: string): TextFault {
    return new TextFault({ ...this.#place(), message: `not JSON: ${message}` });
  }
}
