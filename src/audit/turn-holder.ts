/** Who was seen with the turn. */
import type { HolderState } from "../core/process-mark.js";

export interface TurnHolder {
  readonly holder: string;
  readonly state: HolderState;
  /** When somebody last wrote where the log ends: a later turn of the same holder has another time. */
  readonly headWrittenMs: number;
}

/** No record was written between the two. */
export function isSameTurn(one: TurnHolder, other: TurnHolder): boolean {
  return one.holder === other.holder && one.headWrittenMs === other.headWrittenMs;
}
