/**
 * Attacks on parts that do not exist yet, with the part that brings them. The list only shrinks: whoever adds the
 * part adds the attacks, takes the ids out here and lowers the number.
 */
export interface Pending {
  readonly id: string;
  readonly reason: string;
}

const gateway = "there is no egress gateway yet: every sandbox is off the network (N1 attacks that)";
const images = "the attacks of a hostile registry are tests of src/images/registry so far, not of a whole run";
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
  { id: "A5", reason: "project files and policy files come with the gateway" },
  { id: "A6", reason: "secrets are first handed to a sandbox by the gateway, and logged by the audit log" },
  { id: "A7", reason: "the audit log comes with the gateway" },
  { id: "A8", reason: images },
];

/** Only ever lowered. */
export const MOST_PENDING = 17;
