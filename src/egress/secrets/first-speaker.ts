/** Waits for the first byte of a new connection, from either side, and takes none: is it a client's TLS? */
import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

const HANDSHAKE = 22;

/** False also where the server speaks first, or nobody does before one of them is gone. */
export function clientSpeaksTls(client: Duplex, server: Socket, idleMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const late = () => server.destroy();
    const settle = (tls: boolean) => {
      client.off("readable", read).off("end", other).off("close", other);
      server.off("readable", other).off("close", other).off("timeout", late);
      server.setTimeout(0);
      resolve(tls);
    };
    const other = () => settle(false);
    const read = () => {
      const chunk: Buffer | null = client.read();
      if (chunk === null) return;
      client.unshift(chunk);
      settle(chunk[0] === HANDSHAKE);
    };
    server.setTimeout(idleMs, late);
    client.on("readable", read).on("end", other).on("close", other);
    server.on("readable", other).on("close", other);
    if (client.closed || server.closed) other();
    else read();
  });
}
