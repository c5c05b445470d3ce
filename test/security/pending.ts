/**
 * Attacks on parts that do not exist yet, with the part that brings them. The list only shrinks: whoever adds the
 * part adds the attacks, takes the ids out here and lowers the number.
 */
export interface Pending {
  readonly id: string;
  readonly reason: string;
}

const gateway = "there is no egress gateway yet: every sandbox is off the network (N1 attacks that)";
const http = "there is no HTTP interface yet";

export const pending: readonly Pending[] = [
  { id: "F5", reason: "the file interface comes with the daemon" },
  { id: "N2", reason: gateway },
  { id: "N3", reason: gateway },
  { id: "N4", reason: gateway },
  { id: "N5", reason: gateway },
  { id: "N6", reason: gateway },
  { id: "N7", reason: gateway },
  { id: "N8", reason: gateway },
  { id: "N9", reason: gateway },
  { id: "A1", reason: http },
  { id: "A2", reason: http },
  { id: "A3", reason: http },
  { id: "A4", reason: http },
];

/** Only ever lowered. */
export const MOST_PENDING = 13;
