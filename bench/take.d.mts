import type { Figure } from "./figures/index.mjs";

export interface Taken {
  readonly figures: readonly { readonly name: string; readonly isShort: boolean; readonly result: unknown }[];
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  readonly failed: readonly { readonly name: string; readonly reason: string }[];
}

export function take(
  figures: readonly (Figure & { readonly run: (context: object, quick: boolean) => Promise<unknown> })[],
  context: object,
  options: { readonly quick: boolean; readonly untilMs: number; readonly tell: (text: string) => void },
): Promise<Taken>;
