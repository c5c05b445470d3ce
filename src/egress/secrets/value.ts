/** The secret itself. It is shown by nothing that prints, logs or serialises it; whoever needs it asks for it. */
import { inspect } from "node:util";
import { AgentKernelError } from "../../core/errors.js";

/** Shorter ones would be found by chance in answers, and could be guessed. */
const MIN_LENGTH = 8;
const MAX_LENGTH = 8_192;

export class SecretValue {
  readonly #value: string;
  readonly #name: string;

  constructor(name: string, value: string) {
    const fault = whyUnusable(value);
    if (fault !== null) {
      throw new AgentKernelError("invalid_argument", `the value of the secret ${name} cannot be used: ${fault}`, {
        hint: `set ${name} to the bare token, as it stands in the header`,
        details: { field: "secret", name },
      });
    }
    this.#name = name;
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return `[secret ${this.#name}]`;
  }

  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }
}

function whyUnusable(value: string): string | null {
  if (value === "") return "it is empty";
  if (/[\r\n]/.test(value)) return "it has a line break, which no header can carry";
  if (!/^[\x20-\x7e]*$/.test(value)) return "it has a character that is not printable ASCII";
  if (value.trim() !== value) return "it begins or ends with a space";
  if (value.length < MIN_LENGTH) return `it is shorter than ${MIN_LENGTH} characters`;
  return value.length > MAX_LENGTH ? `it is longer than ${MAX_LENGTH} characters` : null;
}
