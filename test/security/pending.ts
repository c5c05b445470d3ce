/**
 * Attacks on parts that do not exist yet, with the part that brings them. The list only shrinks: whoever adds the
 * part adds the attacks, takes the ids out here and lowers the number.
 */
export interface Pending {
  readonly id: string;
  readonly reason: string;
}

export const pending: readonly Pending[] = [];

/** Only ever lowered. */
export const MOST_PENDING = 0;
