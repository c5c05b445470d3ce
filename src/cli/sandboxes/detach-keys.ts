/** Keys that leave a terminal. They are looked for in what is typed, and are not typed into the terminal themselves. */
import { Buffer } from "node:buffer";
import { AgentKernelError } from "../../core/errors.js";

export const USUAL_DETACH_KEYS = "ctrl-p,ctrl-q";
const MOST_KEYS = 16;
/** What Ctrl makes of these characters, from NUL on. */
const CONTROLS = "@abcdefghijklmnopqrstuvwxyz[\\]^_";

/** The bytes that the keys send. */
export function parseDetachKeys(text: string): readonly number[] {
  const keys = text.split(",");
  if (keys.length > MOST_KEYS) throw invalid(text, `there are more than ${MOST_KEYS} keys`);
  return keys.map((key) => {
    if (/^[!-~]$/.test(key)) return key.charCodeAt(0);
    const control = /^ctrl-(.)$/i.exec(key)?.[1]?.toLowerCase();
    const at = control === undefined ? -1 : CONTROLS.indexOf(control);
    if (at < 0) throw invalid(text, key === "" ? "a key is missing" : `"${key}" is no key`);
    return at;
  });
}

function invalid(text: string, why: string): AgentKernelError {
  return new AgentKernelError("invalid_argument", `--detach-keys: "${text}": ${why}`, {
    hint: `write keys with commas between them, each one character or ctrl-X: ${USUAL_DETACH_KEYS} (the default), ctrl-a,d`,
    details: { field: "detach-keys" },
  });
}

interface Typed {
  /** What is to be typed into the terminal. */
  readonly bytes: Buffer;
  /** The keys were complete; what came after them is nobody's. */
  readonly isDetached: boolean;
}

/** Holds back what may become the keys, until it is known that it does not. */
export class DetachKeys {
  readonly #keys: readonly number[];
  #matched = 0;

  constructor(keys: readonly number[]) {
    this.#keys = keys;
  }

  get isHolding(): boolean {
    return this.#matched > 0;
  }

  take(chunk: Buffer): Typed {
    const typed: number[] = [];
    for (const byte of chunk) {
      while (this.#matched > 0 && byte !== this.#keys[this.#matched]) typed.push(...this.#fallBack());
      if (byte === this.#keys[this.#matched]) this.#matched++;
      else typed.push(byte);
      if (this.#matched === this.#keys.length) {
        this.#matched = 0;
        return { bytes: Buffer.from(typed), isDetached: true };
      }
    }
    return { bytes: Buffer.from(typed), isDetached: false };
  }

  /** It was meant as it is. */
  letGo(): Buffer {
    const held = this.#keys.slice(0, this.#matched);
    this.#matched = 0;
    return Buffer.from(held);
  }

  /** The longest end of what is held that may still become the keys stays held; the rest is returned. */
  #fallBack(): readonly number[] {
    const held = this.#keys.slice(0, this.#matched);
    for (let dropped = 1; dropped <= held.length; dropped++) {
      const rest = held.slice(dropped);
      if (rest.every((key, at) => key === this.#keys[at])) {
        this.#matched = rest.length;
        return held.slice(0, dropped);
      }
    }
    return held;
  }
}
