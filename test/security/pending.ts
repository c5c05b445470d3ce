/**
 * Attacks on parts that do not exist yet, with the part that brings them. The list only shrinks: whoever adds the
 * part adds the attacks, takes the ids out here and lowers the number.
 */
export interface Pending {
  readonly id: string;
  readonly reason: string;
}

const http = "there is no HTTP interface yet";

export const pending: readonly Pending[] = [
  { id: "A1", reason: http },
  { id: "A2", reason: http },
  { id: "A3", reason: http },
  { id: "A4", reason: http },
];

/** Only ever lowered. */
export const MOST_PENDING = 4;
