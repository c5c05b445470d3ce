/**
 * One JSON line for each request: who asked for which operation, and what came of it. Never a header, a query, a body or a
 * path of a file, since any of them may hold a secret.
 */
import { appendFile, mkdir, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";

interface AccessRecord {
  readonly time: string;
  readonly id: string;
  /** Null where nobody that is known asked. */
  readonly caller: string | null;
  readonly remote: string | null;
  readonly method: string;
  /** Null where the path names none. */
  readonly operation: string | null;
  readonly sandbox: string | null;
  readonly status: number;
  readonly error: string | null;
  readonly bytes_out: number;
  readonly duration_ms: number;
  /** The caller hung up before the end. */
  readonly aborted: boolean;
}

const FLUSH_MS = 100;
const MAX_BYTES = 16 << 20;
/** More than this waits only where the disk does not take it; the oldest go. */
const MOST_WAITING = 10_000;

export class AccessLog {
  readonly #path: string;
  #waiting: string[] = [];
  #writing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  lost = 0;

  constructor(path: string) {
    this.#path = path;
  }

  add(record: AccessRecord): void {
    this.#waiting.push(`${JSON.stringify(record)}\n`);
    if (this.#waiting.length > MOST_WAITING) {
      this.#waiting.shift();
      this.lost++;
    }
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS).unref();
  }

  /** Never rejects: a log that cannot be written is counted, and nobody's request fails for it. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#writing;
    const lines = this.#waiting.splice(0);
    if (lines.length === 0) return;
    this.#writing = this.#write(lines).catch(() => {
      this.lost += lines.length;
    });
    await this.#writing;
    this.#writing = null;
  }

  async #write(lines: readonly string[]): Promise<void> {
    const size = await stat(this.#path).then(
      (found) => (found.isFile() ? found.size : 0),
      () => 0,
    );
    if (size === 0) await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    if (size > MAX_BYTES) await rename(this.#path, `${this.#path}.1`);
    await appendFile(this.#path, lines.join(""), { mode: 0o600 });
  }
}
