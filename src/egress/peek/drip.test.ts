/**
 * N8: a client (or server) that sends byte by byte. Whatever a connection waits for, a byte must cost the same however
 * many came before it: processor time is counted, which a busy machine does not change.
 */
import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { parseHost } from "../host.js";
import { Allowance } from "../limits.js";
import { Rules } from "../rules.js";
import { Inspector, isPeekRefusal } from "./inspector.js";

const BYTES = 160_000;
/** Rereading what is held costs more than ten times as much, and grows with the square. */
const MOST_CPU_MS = 1_500;

const rules = new Rules({ egress: "allowlist", allow: [{ domain: "a.example" }], deny: [] });

function inspector(): Inspector {
  const host = parseHost("a.example");
  if (host.kind === "invalid") throw new Error(host.why);
  return new Inspector({
    expected: { host, port: 80, exact: true, rules, judge: () => ({ allowed: false, rule: "no", uncovered: false }) },
    headBytes: 2 * BYTES,
    helloBytes: 2 * BYTES,
    allowance: new Allowance(100_000_000),
    seen: () => {},
  });
}

const head = "POST / HTTP/1.1\r\nHost: a.example\r\n";
const upgrade = "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const hello = Buffer.from([22, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff, 3, 3]).toString("latin1");

const clientStates: readonly (readonly [string, string])[] = [
  ["before the first byte", ""],
  ["behind empty lines", "\r\n\r\n"],
  ["in a first line", "GET /"],
  ["in a head", head],
  ["in a value", `${head}X: `],
  ["behind a request", "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"],
  ["in a body", `${head}Content-Length: 900000\r\n\r\n`],
  ["before a chunk", `${head}Transfer-Encoding: chunked\r\n\r\n`],
  ["in a chunk", `${head}Transfer-Encoding: chunked\r\n\r\nfffff\r\n`],
  ["in a trailer", `${head}Transfer-Encoding: chunked\r\n\r\n0\r\n`],
  ["while a change of protocols is asked for", upgrade],
  ["in a ClientHello", hello],
  ["in records of one byte", "\x16\x03\x01\x00\x01\x01"],
];
const classes = [
  "\n",
  "\r",
  "\r\n",
  " ",
  "\t",
  "\0",
  "\x0b",
  "a",
  ":",
  "0",
  "/",
  "\x16",
  "\x80",
  "\xa0",
  "\xef\xbb\xbf",
  "\xff",
];
const records = ["\x16\x03\x01\x00\x01\0", "\x16\x03\x01\x00\x01\x01"];

function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Bytes one at a time, until they are refused or enough came. */
function drip(text: string, push: (byte: Buffer) => boolean): void {
  const bytes = Buffer.from(text, "latin1");
  for (let i = 0; i < BYTES; i++) if (!push(bytes.subarray(i % bytes.length, (i % bytes.length) + 1))) return;
}

describe.each(clientStates)("N8 a client that drips %s", (_state, before) => {
  it.each([...classes, ...records])("%j costs each byte once", (text) => {
    const look = inspector();
    look.push(Buffer.from(before, "latin1"));
    expect(cpuMsOf(() => drip(text, (byte) => !isPeekRefusal(look.push(byte))))).toBeLessThan(MOST_CPU_MS);
    look.release();
  });
});

describe.each([
  ["before its answer", ""],
  ["in its head", "HTTP/1.1 200 OK\r\n"],
  ["in a chunked answer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"],
])("N8 a server that drips %s", (_state, before) => {
  it.each(classes)("%j costs each byte once", (text) => {
    const look = inspector();
    look.push(Buffer.from(upgrade, "latin1"));
    look.observe(Buffer.from(before, "latin1"));
    expect(cpuMsOf(() => drip(text, (byte) => !isPeekRefusal(look.observe(byte))))).toBeLessThan(MOST_CPU_MS);
    look.release();
  });
});
