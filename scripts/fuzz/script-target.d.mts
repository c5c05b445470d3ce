import type { Buffer } from "node:buffer";

export interface Bundle {
  readonly bundle: string;
  readonly counters: number;
  readonly words: readonly string[];
}
export type Outcome = { readonly executions: number; readonly reached: number; readonly places: number } & (
  | { readonly kind: "done"; readonly kept: readonly Uint8Array[] }
  | { readonly kind: "failed"; readonly input: Uint8Array; readonly reason: string }
);
export function contents(folder: string): Buffer[];
export function nameOf(bytes: Uint8Array): string;
export function put(folder: string, name: string, bytes: Uint8Array | string): void;
export function bundled(entry: string, outFolder: string, name: string): Promise<Bundle>;
export function searched(
  options: Bundle & {
    readonly seeds: readonly Uint8Array[];
    readonly maxBytes: number;
    readonly minutes: number;
    readonly seed: number;
    readonly hangMs?: number;
  },
): Promise<Outcome>;
