/** Parses what the guest asks for on a channel of its own, without any trust. */
import { isIP } from "node:net";
import type { OutgoingTarget } from "../core/egress.js";
import { MAX_CHANNEL_ID } from "./frame.js";
import { badMember, flagMember, integerMember, type JsonObject, member, stringMember } from "./json.js";

/** The longest name that DNS can carry, as text. */
const MAX_NAME_LENGTH = 253;
/** An IPv6 address with a scope is longer, and is none that could be asked for. */
const MAX_ADDRESS_LENGTH = 45;

type GuestRequest =
  | { readonly kind: "tcp-out"; readonly target: OutgoingTarget }
  | { readonly kind: "lookup"; readonly name: string }
  | { readonly kind: "call"; readonly exec: number }
  | { readonly kind: "view" }
  | { readonly kind: "other" };

export function readGuestRequest(body: JsonObject): GuestRequest {
  switch (stringMember(body, "kind", 64)) {
    case "tcp-out":
      return { kind: "tcp-out", target: readTarget(body) };
    case "lookup":
      return { kind: "lookup", name: readName(body) };
    case "call":
      return { kind: "call", exec: integerMember(body, "exec", 1, MAX_CHANNEL_ID) };
    case "view":
      return { kind: "view" };
    default:
      return { kind: "other" };
  }
}

function readTarget(body: JsonObject): OutgoingTarget {
  if (flagMember(body, "proxy")) return { kind: "proxy" };
  const port = integerMember(body, "port", 1, 65_535);
  if (member(body, "name") !== undefined) return { kind: "name", name: readName(body), port };
  const address = stringMember(body, "address", MAX_ADDRESS_LENGTH);
  if (isIP(address) === 0 || address.includes("%")) throw badMember("address");
  return { kind: "address", address, port };
}

function readName(body: JsonObject): string {
  const name = stringMember(body, "name", MAX_NAME_LENGTH);
  if (name === "") throw badMember("name");
  return name;
}
