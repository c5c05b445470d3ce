/** What one layer may become at most when it is unpacked. */
export interface LayerLimits {
  readonly maxBytes: number;
  /** Files, folders and all else, with the folders that are made for them. */
  readonly maxEntries: number;
}

/** Far above honest layers, far below what would fill a machine by surprise. */
export const LAYER_LIMITS: LayerLimits = { maxBytes: 32 * 2 ** 30, maxEntries: 2_000_000 };
