/** The two TLS sessions of a connection that is ended here, each made by Node and each for HTTP/1.1 alone. */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect, type SecureContext, TLSSocket } from "node:tls";

/** HTTP/2 is not offered: a secret in its packed heads would take all of HTTP/2 on both sides. */
const PROTOCOLS = ["http/1.1"];

/** With the client, in the host's name. Rejects where the client does not accept us. */
export function serveTls(client: Duplex, secureContext: SecureContext, handshakeMs: number): Promise<TLSSocket> {
  const socket = new TLSSocket(client, { isServer: true, secureContext, ALPNProtocols: PROTOCOLS });
  client.on("error", (error) => socket.destroy(error));
  socket.disableRenegotiation();
  return secured(socket, "secure", handshakeMs);
}

/** With the server, which must prove to be the host. */
export function verifyServer(
  server: Socket,
  host: string,
  secureContext: SecureContext,
  handshakeMs: number,
): Promise<TLSSocket> {
  const socket = connect({
    socket: server,
    servername: host,
    host,
    secureContext,
    ALPNProtocols: PROTOCOLS,
    rejectUnauthorized: true,
  });
  return secured(socket, "secureConnect", handshakeMs);
}

function secured(socket: TLSSocket, event: "secure" | "secureConnect", handshakeMs: number): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => socket.destroy(new Error(reason));
    const timer = setTimeout(fail, handshakeMs, "the handshake took too long");
    // A peer that leaves by a half-close would otherwise be waited for.
    const ended = () => fail("the connection ended during the handshake");
    socket.once("end", ended);
    socket.once("close", () => {
      clearTimeout(timer);
      reject(new Error("the connection ended during the handshake"));
    });
    // Stays: between the handshake and whoever carries the connection there is nobody else.
    socket.on("error", (error) => {
      reject(error);
      socket.destroy();
    });
    socket.once(event, () => {
      clearTimeout(timer);
      socket.off("end", ended);
      resolve(socket);
    });
  });
}
