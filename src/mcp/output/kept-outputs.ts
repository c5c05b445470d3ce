/** Whole outputs of commands whose answer was cut, for as long as the connection lasts and there is room. */
import { randomBytes } from "node:crypto";
import { AgentKernelError } from "../../core/errors.js";

export const OUTPUT_URI = "agentkernel://outputs/";

const MOST_BYTES = 64 << 20;
const MOST_OUTPUTS = 200;

export interface KeptOutput {
  readonly uri: string;
  readonly bytes: Buffer;
  /** For people: which command it is of. */
  readonly title: string;
}

export class KeptOutputs {
  /** Oldest first. */
  readonly #outputs = new Map<string, KeptOutput>();
  #bytes = 0;

  keep(bytes: Buffer, title: string): string {
    const uri = `${OUTPUT_URI}${randomBytes(6).toString("hex")}`;
    this.#outputs.set(uri, { uri, bytes, title });
    this.#bytes += bytes.length;
    for (const [oldest, { length }] of [...this.#outputs].map(([key, kept]) => [key, kept.bytes] as const)) {
      if (this.#bytes <= MOST_BYTES && this.#outputs.size <= MOST_OUTPUTS) break;
      this.#outputs.delete(oldest);
      this.#bytes -= length;
    }
    return uri;
  }

  list(): readonly KeptOutput[] {
    return [...this.#outputs.values()];
  }

  get(uri: string): KeptOutput {
    const found = this.#outputs.get(uri);
    if (found !== undefined) return found;
    throw new AgentKernelError("not_found", `${uri.slice(0, 100)} is not kept, or not any more`, {
      hint: "run the command again and let it write to a file, or to less output",
    });
  }

  clear(): void {
    this.#outputs.clear();
    this.#bytes = 0;
  }
}
