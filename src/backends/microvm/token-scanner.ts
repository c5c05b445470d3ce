/**
 * Finds the bytes by which a machine tells that its sandbox has ended, in a stream that the sandbox had until then. Nobody
 * in there knows them. What might be their beginning is held back until it is known not to be.
 */

interface Scanned {
  /** Bytes that are not the token. */
  readonly before: Buffer;
  /** Bytes after it; null where it was not found yet. */
  readonly after: Buffer | null;
}

const NOTHING = Buffer.alloc(0);

export class TokenScanner {
  readonly #token: Buffer;
  #held: Buffer = NOTHING;

  constructor(token: Buffer) {
    this.#token = token;
  }

  scan(chunk: Buffer): Scanned {
    const whole = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const at = whole.indexOf(this.#token);
    if (at >= 0) {
      this.#held = NOTHING;
      return { before: whole.subarray(0, at), after: whole.subarray(at + this.#token.length) };
    }
    const length = this.#beginningAtTheEndOf(whole);
    // The chunk may be used again by whoever gave it.
    this.#held = length === 0 ? NOTHING : Buffer.from(whole.subarray(whole.length - length));
    return { before: whole.subarray(0, whole.length - length), after: null };
  }

  #beginningAtTheEndOf(whole: Buffer): number {
    const first = Math.max(0, whole.length - this.#token.length + 1);
    for (let at = whole.indexOf(this.#token[0] ?? 0, first); at >= 0; at = whole.indexOf(this.#token[0] ?? 0, at + 1)) {
      const length = whole.length - at;
      if (whole.subarray(at).equals(this.#token.subarray(0, length))) return length;
    }
    return 0;
  }
}
