/** Parses the guest's HELLO, the ready frame. */
import { MAX_WINDOW_BYTES, MIN_WINDOW_BYTES, PROTOCOL_VERSION } from "./frame.js";
import { integerMember, type JsonObject, stringListMember, stringMember } from "./json.js";
import { type KeptExec, readKeptExecs } from "./kept-exec.js";
import { GuestViolation } from "./violation.js";

export interface GuestReady {
  readonly guestVersion: string;
  readonly windowBytes: number;
  readonly features: readonly string[];
  /** Commands that an earlier connection had started, of a kept sandbox. */
  readonly execs: readonly KeptExec[];
}

export function readReady(body: JsonObject): GuestReady {
  const protocol = integerMember(body, "protocol", 0, Number.MAX_SAFE_INTEGER);
  if (protocol !== PROTOCOL_VERSION) {
    throw new GuestViolation(
      "version-mismatch",
      `it speaks version ${protocol}, the host speaks version ${PROTOCOL_VERSION}`,
      { guestProtocol: protocol, hostProtocol: PROTOCOL_VERSION },
    );
  }
  return {
    guestVersion: stringMember(body, "guest", 64),
    windowBytes: integerMember(body, "window", MIN_WINDOW_BYTES, MAX_WINDOW_BYTES),
    features: stringListMember(body, "features", 64, 64),
    execs: readKeptExecs(body),
  };
}
