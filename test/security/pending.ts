/**
 * Attacks on parts that do not exist yet, with the part that brings them. The list only shrinks: whoever adds the
 * part adds the attacks, takes the ids out here and lowers the number.
 */
interface Pending {
  readonly id: string;
  readonly reason: string;
}

export const pending: readonly Pending[] = [
  { id: "F15", reason: "shared caches and volumes do not exist yet" },
  { id: "N10", reason: "credentials for git do not exist yet" },
  { id: "N11", reason: "previews do not exist yet" },
  { id: "A12", reason: "interfaces with tenants do not exist yet" },
];

/** Only ever lowered. */
export const MOST_PENDING = 4;
