/**
 * What stands for the user over loopback TCP: a random token in a file that only the user can read. It is made anew each
 * time that a server starts to listen and lies under the number of its port, so a client sends it to that port alone, and
 * whoever takes the port over later has learned nothing that any server accepts.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { textIfThere } from "../../core/text-if-there.js";

export class LocalToken {
  readonly #text = `akl_${randomBytes(32).toString("base64url")}`;
  readonly #hash = hashOf(this.#text);
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  static write(path: string): LocalToken {
    const token = new LocalToken(path);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const fresh = `${path}.${randomBytes(6).toString("hex")}`;
    writeFileSync(fresh, `${token.#text}\n`, { mode: 0o600, flag: "wx" });
    renameSync(fresh, path);
    return token;
  }

  is(text: string): boolean {
    return timingSafeEqual(hashOf(text), this.#hash);
  }

  /** Another server may have taken the port, and the file with it. */
  remove(): void {
    if (textIfThere(this.#path)?.trim() === this.#text) rmSync(this.#path, { force: true });
  }
}

function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
