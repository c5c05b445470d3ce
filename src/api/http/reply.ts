/** The reply of an operation: data for the envelope, bytes, or a stream that it writes itself. */
import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { RenameEvent } from "../sse.js";

export type Reply =
  | { readonly kind: "data"; readonly status: number; readonly data: unknown }
  /** JSON that is too much for one text. `release` is called when all of it was written, or nobody reads it. */
  | {
      readonly kind: "json";
      readonly pieces: AsyncIterable<string> | Iterable<string>;
      readonly release: () => void;
    }
  | { readonly kind: "text"; readonly type: string; readonly text: string; readonly headers?: Headers }
  | { readonly kind: "bytes"; readonly type: string; readonly content: Readable; readonly headers?: Headers }
  /** `write` owns the response from then on; its head is out already. */
  | {
      readonly kind: "events";
      readonly write: (response: ServerResponse, rename?: RenameEvent) => Promise<void>;
    }
  /** The same, with a head of its own. Rejects, before it wrote any, where there is nothing to pass on. */
  | { readonly kind: "raw"; readonly write: (response: ServerResponse) => Promise<void> };

type Headers = Readonly<Record<string, string>>;

export function data(value: unknown, status = 200): Reply {
  return { kind: "data", status, data: value };
}
