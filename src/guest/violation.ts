/** A rule of the guest protocol that the guest broke. Ends that sandbox and nothing else. */
import { AgentKernelError } from "../core/errors.js";

/** The first nine are seen in the bytes alone and named in spec/vectors/frames.json; the rest need the state. */
export type ViolationReason =
  | "unknown-type"
  | "reserved"
  | "bad-direction"
  | "bad-channel"
  | "bad-stream"
  | "oversize"
  | "bad-length"
  | "bad-credit"
  | "bad-json"
  | "bad-member"
  | "before-hello"
  | "second-hello"
  | "version-mismatch"
  | "bad-open-id"
  | "too-many-channels"
  | "unknown-channel"
  | "after-terminal"
  | "before-opened"
  | "second-answer"
  | "wrong-stream"
  | "wrong-terminal"
  | "over-credit"
  | "data-after-eof"
  | "second-eof"
  | "terminal-before-eof"
  | "unasked-pong";

export class GuestViolation extends AgentKernelError {
  readonly reason: ViolationReason;

  constructor(reason: ViolationReason, what: string, details: Readonly<Record<string, unknown>> = {}) {
    super("guest_protocol", `The guest broke the protocol: ${what}.`, { details: { ...details, reason } });
    this.name = "GuestViolation";
    this.reason = reason;
  }
}
