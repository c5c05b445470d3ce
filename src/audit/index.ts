/**
 * src/audit owns the audit log: what is recorded, how, and how it is read and checked. It only ever adds to the log,
 * decides nothing about sandboxes, and never holds one up: what cannot be written is told to whoever asked for the
 * record. This file is all that a run loads before its sandbox boots; what writes is loaded later.
 *
 * A process has one `AuditTrail`; each sandbox of it has a `SandboxAudit` on that trail.
 */
export type { AuditEvent, CopyOrigin } from "./events.js";
export { defaultRetention } from "./retention-options.js";
export { SandboxAudit, secretsIn } from "./sandbox-audit.js";
export { AuditTrail, type AuditTrailOptions } from "./trail.js";
