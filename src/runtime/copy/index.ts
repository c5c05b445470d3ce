/**
 * Copies of files and folders between the host and sandboxes, and between sandboxes. Each end reads or writes one tree
 * stream: a sandbox's end is its guest, the host's end a process of its own (`ak-copy`), so that nothing a sandbox sends
 * is looked at in this one, and nothing here waits for a disk. It never opens a file of the host's itself.
 */
import { posix } from "node:path";
import type { HideRule } from "../../core/policy.js";
import { readHostTree, writeHostTree } from "../../guest/host-tree.js";
import type { GuestFiles, TreeReport, TreeTarget } from "../../guest/index.js";
import { atSide, type Side } from "./side.js";

export type CopyEnd =
  /** An absolute path; a `/` at its end says that it is a folder, `/.` that what is in it is meant. */
  | { readonly at: "host"; readonly path: string }
  | { readonly at: "sandbox"; readonly path: string; readonly files: GuestFiles };

export interface CopyOptions {
  /** What is left out where a folder of the host's goes into a sandbox: files that hold secrets. */
  readonly hide: readonly HideRule[];
  /** For what a sandbox sends to the host. */
  readonly maxBytes: number;
  readonly maxEntries: number;
  readonly signal?: AbortSignal;
  /** Is told how many bytes have passed, names and all. */
  readonly onProgress?: (bytes: number) => void;
}

export const DEFAULT_MAX_BYTES = 16 * 2 ** 30;
export const DEFAULT_MAX_ENTRIES = 1_000_000;

export async function copyTree(from: CopyEnd, to: CopyEnd, options: CopyOptions): Promise<TreeReport> {
  const target = targetOf(from, to);
  const { signal } = options;
  const stream =
    from.at === "host"
      ? readHostTree(from.path, to.at === "host" ? [] : options.hide, { signal })
      : await from.files.readTree(from.path).catch((error: unknown) => {
          throw atSide(error, "in the sandbox");
        });
  const content = counted(read(stream, sideOf(from)), options);
  const { maxBytes, maxEntries } = options;
  try {
    if (to.at === "sandbox") return await to.files.writeTree(target, content);
    return await writeHostTree({ ...target, maxBytes, maxEntries }, content, signal);
  } catch (error) {
    throw atSide(error, sideOf(to));
  }
}

async function* read(stream: AsyncIterable<Buffer>, side: Side): AsyncGenerator<Buffer, void, void> {
  try {
    yield* stream;
  } catch (error) {
    throw atSide(error, side);
  }
}

function sideOf({ at }: CopyEnd): Side {
  return at === "host" ? "on this machine" : "in the sandbox";
}

function targetOf(from: CopyEnd, to: CopyEnd): TreeTarget {
  const contents = from.path.endsWith("/.") || from.path === ".";
  return { path: to.path, name: contents ? "" : posix.basename(from.path), contents };
}

async function* counted(
  stream: AsyncIterable<Buffer>,
  { signal, onProgress }: CopyOptions,
): AsyncGenerator<Buffer, void, void> {
  let bytes = 0;
  for await (const chunk of stream) {
    signal?.throwIfAborted();
    bytes += chunk.length;
    onProgress?.(bytes);
    yield chunk;
  }
}
