/** An inspector of a connection that was allowed for one name, and what it lets through. */
import { Buffer } from "node:buffer";
import { parseHost } from "../host.js";
import { Allowance } from "../limits.js";
import { Inspector, isPeekRefusal, type Passed } from "../peek/inspector.js";
import { Rules } from "../rules.js";

const rules = new Rules({ egress: "allowlist", allow: [{ domain: "a.example" }, { domain: "b.example" }], deny: [] });
export const LIMIT = 4096;
export const allowance = () => new Allowance(1_000_000);

export function inspector(name = "a.example", seen: string[] = [], held = allowance()): Inspector {
  const host = parseHost(name);
  if (host.kind === "invalid") throw new Error(host.why);
  return new Inspector({
    expected: {
      host,
      port: 443,
      exact: host.kind === "name",
      rules,
      judge: (other, port) =>
        other.kind === "name"
          ? rules.judgeName(other.name, port)
          : { allowed: false, rule: "address", uncovered: false },
    },
    headBytes: LIMIT,
    helloBytes: LIMIT,
    allowance: held,
    seen: (kind, text) => seen.push(`${kind} ${text}`),
  });
}

export const textOf = (passed: Passed): string =>
  isPeekRefusal(passed) ? `refused: ${passed.reason}` : Buffer.concat(passed as Buffer[]).toString("latin1");

/** What passes of these bytes, given in pieces; the refusal where one comes. */
export function through(bytes: Buffer | string, pieces = Number.POSITIVE_INFINITY, look = inspector()): string {
  const all = Buffer.from(bytes as string, "latin1");
  let passed = "";
  for (let at = 0; at < all.length; at += Math.min(pieces, all.length)) {
    const step = textOf(look.push(all.subarray(at, at + pieces)));
    if (step.startsWith("refused: ")) return step;
    passed += step;
  }
  return passed;
}

export const get = (host: string, more = "") => `GET / HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;
