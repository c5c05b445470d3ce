/** Errors of sockets and resolvers as what a sandbox is told about them. */
import type { OutgoingFailure, OutgoingRefusal } from "../core/egress.js";

const byCode: ReadonlyMap<string, OutgoingFailure> = new Map([
  ["ECONNREFUSED", "refused"],
  ["ENETUNREACH", "unreachable"],
  ["EHOSTUNREACH", "unreachable"],
  ["EADDRNOTAVAIL", "unreachable"],
  ["ENETDOWN", "unreachable"],
  ["EHOSTDOWN", "unreachable"],
  ["ETIMEDOUT", "timed_out"],
  ["ENOTFOUND", "not_found"],
]);

/** A failure that the gateway itself knows the meaning of. */
export class EgressFailure extends Error {
  constructor(
    readonly code: OutgoingFailure,
    message: string,
  ) {
    super(message);
    this.name = "EgressFailure";
  }
}

export function failureOf(error: unknown): OutgoingFailure {
  if (error instanceof EgressFailure) return error.code;
  if (error instanceof Error && error.name === "TimeoutError") return "timed_out";
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return byCode.get(code) ?? "failed";
}

const words: Readonly<Record<OutgoingFailure, string>> = {
  denied: "is not allowed",
  not_found: "has no address",
  refused: "refused the connection",
  unreachable: "cannot be reached",
  timed_out: "did not answer in time",
  limit: "is one connection too many for this sandbox",
  failed: "could not be connected to",
};

export function refusal(code: OutgoingFailure, destination: string, detail?: string): OutgoingRefusal {
  return { code, message: `${destination} ${words[code]}${detail === undefined ? "" : `: ${detail}`}` };
}
