/** A command that says that no space is left: the user is told how much there was, and what makes it more. */
import type { Policy } from "../core/policy.js";
import type { OutputSink } from "../guest/index.js";

const FULL = /No space left on device|Disk quota exceeded|\bENOSPC\b|\bEDQUOT\b/;
/** What stands in each of them, to be found without a look at every character. */
const HINTS = ["o space left", "k quota exceeded", "ENOSPC", "EDQUOT"];
/** One that is cut by the end of a chunk is seen with the next. */
const KEPT_BYTES = 32;

export class FullDisk {
  #isSeen = false;

  get isSeen(): boolean {
    return this.#isSeen;
  }

  /** The same sink, whose text is looked at on its way. */
  watch(sink: OutputSink): OutputSink {
    let before = Buffer.alloc(0);
    return {
      write: (chunk, done) => {
        if (!this.#isSeen) {
          this.look(Buffer.concat([before, chunk.subarray(0, KEPT_BYTES)]));
          this.look(chunk);
          before = Buffer.from(chunk.subarray(-KEPT_BYTES));
        }
        sink.write(chunk, done);
      },
      end: (error) => sink.end(error),
    };
  }

  look(text: Buffer | string): void {
    if (this.#isSeen || !HINTS.some((hint) => text.includes(hint))) return;
    this.#isSeen = FULL.test(text.toString("latin1"));
  }
}

/** Of a temporary sandbox, with so much space for what it changes. */
export function fullDiskRemark({ fs, resources }: Policy, scratchMiB: number): string {
  const { diskMiB, memoryMiB } = resources;
  const isMemory = scratchMiB < diskMiB;
  const had = isMemory
    ? `the disk has ${scratchMiB} MiB, since a temporary sandbox writes to its memory of ${memoryMiB} MiB`
    : `the disk limit of ${diskMiB} MiB`;
  const more = isMemory ? "raise it with --memory" : "raise it with --disk";
  return `no space was left: ${had}, and /tmp has ${fs.tmpMiB} MiB; ${more}`;
}
