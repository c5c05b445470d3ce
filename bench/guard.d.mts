/** What the guard's own test uses of it. */
import type { Figure } from "./figures/index.mjs";

export type Answer = "within" | "beyond" | "unsteady";

export interface Reference {
  readonly p50Ms: number;
  readonly p95Ms: number;
}

export const guarded: readonly string[];
export const MARGIN: number;
export function judge(figure: {
  readonly limit: NonNullable<Figure["limit"]>;
  readonly result: { readonly ratio?: number; readonly mib?: number; readonly reference?: Reference };
}): Answer;
export function verdictOf(tryOnce: () => Promise<Answer>, canGoOn: () => boolean): Promise<Answer>;
