/** SOCKS 5 (RFC 1928): no login, CONNECT only, for names and for addresses of both families. */
import { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import { ipv4, parseAddress } from "../../core/address/address.js";
import type { OutgoingFailure } from "../../core/egress.js";
import { readExactly } from "../byte-reader.js";
import { type Host, type InvalidHost, parseHost } from "../host.js";
import { isOpened } from "../opener.js";
import type { ProxyContext } from "./context.js";

const replies: Readonly<Record<OutgoingFailure, number>> = {
  denied: 2,
  unreachable: 3,
  not_found: 4,
  timed_out: 6,
  refused: 5,
  limit: 1,
  failed: 1,
};

const answer = (reply: number) => Buffer.from([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]);

export async function serveSocks(
  stream: Duplex,
  context: ProxyContext,
  signal: AbortSignal,
  greeted: () => void,
): Promise<void> {
  const [, methodCount = 0] = await readExactly(stream, 2, signal);
  const methods = await readExactly(stream, methodCount, signal);
  if (!methods.includes(0)) {
    stream.end(Buffer.from([5, 0xff]));
    return;
  }
  stream.write(Buffer.from([5, 0]));
  const [version, command, , type] = await readExactly(stream, 4, signal);
  if (version !== 5) return void stream.destroy();
  if (command !== 1) return void stream.end(answer(7));
  const asked = await readHost(stream, type, signal);
  if (asked === null) return void stream.end(answer(8));
  const port = (await readExactly(stream, 2, signal)).readUInt16BE();
  greeted();
  const gone = new AbortController();
  const leave = () => gone.abort(new Error("the client is gone"));
  stream.once("close", leave);
  const opened = await context.open(asked.host, asked.text, port, gone.signal);
  stream.off("close", leave);
  if (!isOpened(opened)) {
    // What the client sends on is thrown away, or our answer would become a reset.
    stream.resume();
    stream.end(answer(replies[opened.code]));
    return;
  }
  stream.write(answer(0));
  context.carry(stream, opened);
}

async function readHost(
  stream: Duplex,
  type: number | undefined,
  signal: AbortSignal,
): Promise<{ readonly host: Host | InvalidHost; readonly text: string } | null> {
  if (type === 3) {
    const [length = 0] = await readExactly(stream, 1, signal);
    const text = (await readExactly(stream, length, signal)).toString("utf8");
    return { host: parseHost(text), text };
  }
  if (type === 1) {
    const address = ipv4(BigInt((await readExactly(stream, 4, signal)).readUInt32BE()));
    return { host: { kind: "address", address }, text: address.text };
  }
  if (type !== 4) return null;
  const groups = (await readExactly(stream, 16, signal)).toString("hex").match(/.{4}/g) ?? [];
  const text = groups.join(":");
  const address = parseAddress(text);
  return { host: address === null ? { kind: "invalid", why: "no address" } : { kind: "address", address }, text };
}
