/**
 * A tunnel through the user's own proxy. The proxy resolves names itself, so here the policy's word on the name is
 * all there is; addresses were judged before.
 */
import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import type { OutgoingFailure } from "../../core/egress.js";
import { readExactly, readUntil } from "../byte-reader.js";
import { EgressFailure } from "../failure.js";
import { authorityText, type Host } from "../host.js";
import type { UpstreamProxy } from "./settings.js";

const MAX_ANSWER_BYTES = 16_384;

/** `socket` is connected to the proxy; when this resolves it is connected to the destination. */
export function openTunnel(
  proxy: UpstreamProxy,
  socket: Socket,
  host: Host,
  port: number,
  signal: AbortSignal,
): Promise<void> {
  return proxy.kind === "http"
    ? connectThroughHttp(proxy, socket, host, port, signal)
    : connectThroughSocks(proxy, socket, host, port, signal);
}

async function connectThroughHttp(
  proxy: UpstreamProxy,
  socket: Socket,
  host: Host,
  port: number,
  signal: AbortSignal,
): Promise<void> {
  const authority = authorityText(host, port);
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`];
  if (proxy.user !== null) {
    lines.push(`Proxy-Authorization: Basic ${Buffer.from(`${proxy.user}:${proxy.password}`).toString("base64")}`);
  }
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  const head = await readUntil(
    socket,
    (bytes) => {
      const end = bytes.indexOf("\r\n\r\n");
      return end < 0 ? -1 : end + 4;
    },
    MAX_ANSWER_BYTES,
    signal,
  );
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head.toString("latin1"))?.[1];
  if (status?.startsWith("2")) return;
  const code: OutgoingFailure = status === "504" ? "timed_out" : status === "502" ? "unreachable" : "failed";
  throw new EgressFailure(code, `the user's own proxy answered ${status ?? "with no status"}`);
}

const socksFailures: ReadonlyMap<number, OutgoingFailure> = new Map([
  [3, "unreachable"],
  [4, "unreachable"],
  [5, "refused"],
  [6, "timed_out"],
]);

async function connectThroughSocks(
  proxy: UpstreamProxy,
  socket: Socket,
  host: Host,
  port: number,
  signal: AbortSignal,
): Promise<void> {
  socket.write(Buffer.from(proxy.user === null ? [5, 1, 0] : [5, 2, 0, 2]));
  const method = (await readExactly(socket, 2, signal))[1];
  if (method === 2 && proxy.user !== null) await authenticate(socket, proxy.user, proxy.password, signal);
  else if (method !== 0) throw new EgressFailure("failed", "the user's own proxy wants another way of logging in");
  socket.write(Buffer.concat([Buffer.from([5, 1, 0]), socksAddress(host), Buffer.from([port >> 8, port & 255])]));
  const [, reply = 1, , type = 0, length = 0] = await readExactly(socket, 5, signal);
  if (reply !== 0) {
    throw new EgressFailure(socksFailures.get(reply) ?? "failed", `the user's own proxy refused it (${reply})`);
  }
  // The address that it is bound to, of which one byte is read, and the port.
  const left = (type === 1 ? 4 : type === 4 ? 16 : length + 1) - 1 + 2;
  await readExactly(socket, left, signal);
}

async function authenticate(socket: Socket, user: string, password: string, signal: AbortSignal): Promise<void> {
  const [name, secret] = [Buffer.from(user), Buffer.from(password)];
  if (name.length > 255 || secret.length > 255) throw new EgressFailure("failed", "the proxy's login is too long");
  socket.write(Buffer.concat([Buffer.from([1, name.length]), name, Buffer.from([secret.length]), secret]));
  const status = (await readExactly(socket, 2, signal))[1];
  if (status !== 0) throw new EgressFailure("failed", "the user's own proxy refused the login");
}

function socksAddress(host: Host): Buffer {
  if (host.kind === "name") return Buffer.concat([Buffer.from([3, host.name.length]), Buffer.from(host.name)]);
  const { family, bits } = host.address;
  const size = family === 4 ? 4 : 16;
  return Buffer.from([family === 4 ? 1 : 4, ...Buffer.from(bits.toString(16).padStart(size * 2, "0"), "hex")]);
}
