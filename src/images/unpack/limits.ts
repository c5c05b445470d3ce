/** What one layer may become at most when it is unpacked. */
export interface LayerLimits {
  readonly maxBytes: number;
  /** Files, folders and all else, with the folders that are made for them. */
  readonly maxEntries: number;
}

/** Far above honest layers, far below what would fill a machine by surprise. */
export const LAYER_LIMITS: LayerLimits = { maxBytes: 32 * 2 ** 30, maxEntries: 2_000_000 };

/** Every layer may become this much, and beyond it this many times what it is packed. */
const FREE_BYTES = 4 * 2 ** 30;
const MAX_RATIO = 250;

/** A small file that becomes a huge one is a trap, not an image. */
export function limitsFor(packedBytes: number, { maxBytes, maxEntries }: LayerLimits): LayerLimits {
  return { maxBytes: Math.min(maxBytes, Math.max(FREE_BYTES, packedBytes * MAX_RATIO)), maxEntries };
}
