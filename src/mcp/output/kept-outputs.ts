/** Whole outputs of commands whose answer was cut, for as long as the connection lasts and there is room. */
import { randomBytes } from "node:crypto";
import type { OutputRoom } from "../../api/limits/output-budget.js";
import { AgentKernelError } from "../../core/errors.js";

export const OUTPUT_URI = "agentkernel://outputs/";

const MOST_BYTES = 64 << 20;
const MOST_OUTPUTS = 200;

interface KeptOutput {
  readonly uri: string;
  readonly bytes: Buffer;
  /** For people: which command it is of. */
  readonly title: string;
  readonly room: OutputRoom;
}

export class KeptOutputs {
  /** Oldest first. */
  readonly #outputs = new Map<string, KeptOutput>();
  readonly #open: () => OutputRoom;
  #bytes = 0;

  /** `open`: memory that is shared with others. */
  constructor(open: () => OutputRoom) {
    this.#open = open;
  }

  /** Null where there is no memory for it. */
  keep(bytes: Buffer, title: string): string | null {
    const room = this.#open();
    for (const [oldest, kept] of this.#outputs) {
      const isFull = this.#bytes + bytes.length > MOST_BYTES || this.#outputs.size >= MOST_OUTPUTS;
      if (!isFull && room.claim(bytes.length)) return this.#add({ bytes, title, room });
      this.#outputs.delete(oldest);
      this.#bytes -= kept.bytes.length;
      kept.room.release();
    }
    return room.claim(bytes.length) ? this.#add({ bytes, title, room }) : null;
  }

  #add(kept: Omit<KeptOutput, "uri">): string {
    const uri = `${OUTPUT_URI}${randomBytes(6).toString("hex")}`;
    // Not a part of a larger block, which would be held with it.
    this.#outputs.set(uri, { ...kept, uri, bytes: Buffer.from(kept.bytes) });
    this.#bytes += kept.bytes.length;
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
    for (const { room } of this.#outputs.values()) room.release();
    this.#outputs.clear();
    this.#bytes = 0;
  }
}
