/**
 * Tokens of sandboxes. Each is an HMAC of the sandbox's id under one secret of the state directory: nothing has to be
 * stored for a sandbox, a restarted server knows the token again, and a sandbox that is made anew under an old name has
 * another one, since ids are never used twice.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { linkSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { textIfThere } from "../core/text-if-there.js";

type Purpose = "envd" | "traffic";

const FORM = /^[0-9a-f]{64}$/;

export class Tokens {
  readonly #secret: string;

  private constructor(secret: string) {
    this.#secret = secret;
  }

  /** The secret is made where there is none. */
  static open(folder: string): Tokens {
    const path = join(folder, "secret");
    const found = textIfThere(path)?.trim();
    if (found !== undefined && FORM.test(found)) return new Tokens(found);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // One that is not whole was never used.
    if (found !== undefined) rmSync(path, { force: true });
    const fresh = join(folder, `secret.${randomBytes(6).toString("hex")}`);
    writeFileSync(fresh, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600, flag: "wx", flush: true });
    try {
      linkSync(fresh, path);
    } catch (error) {
      // Another process was first: its secret holds.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    } finally {
      rmSync(fresh, { force: true });
    }
    return Tokens.open(folder);
  }

  of(purpose: Purpose, sandboxId: string): string {
    return createHmac("sha256", this.#secret).update(`${purpose}:${sandboxId}`).digest("hex");
  }

  /** Takes as long whichever part of the token is wrong. */
  is(purpose: Purpose, sandboxId: string, given: string | undefined): boolean {
    return isSameText(this.of(purpose, sandboxId), given ?? "");
  }
}

/** In constant time, whatever the lengths. */
export function isSameText(one: string, other: string): boolean {
  return timingSafeEqual(digestOf(one), digestOf(other));
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
