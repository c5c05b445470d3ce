/**
 * The gateway as a proxy that another tool's sandbox can be pointed at: HTTP and SOCKS 5 on one port of loopback.
 * Whoever can connect there has what the policy allows and nothing else.
 */
import { createServer } from "node:net";
import { parseAddress } from "../core/address/address.js";
import { whyNotPublic } from "../core/address/non-public.js";
import { AgentKernelError } from "../core/errors.js";
import { listenMarked } from "../core/own-ports.js";
import { createGateway, type Gateway, type GatewayOptions } from "./gateway.js";

interface ListenerOptions extends Omit<GatewayOptions, "external"> {
  /** An address of loopback; 127.0.0.1 where absent. */
  readonly host?: string;
  /** 0: any that is free. */
  readonly port?: number;
}

export interface Listener {
  readonly host: string;
  readonly port: number;
  readonly gateway: Gateway;
  /** Ends the listener and every connection. */
  close(): Promise<void>;
}

export async function startListener(options: ListenerOptions): Promise<Listener> {
  const host = options.host ?? "127.0.0.1";
  const address = parseAddress(host);
  if (address === null || whyNotPublic(address) !== "loopback") {
    throw new AgentKernelError("invalid_argument", `the proxy cannot listen on "${host}": it is no loopback address`, {
      hint: "listen on 127.0.0.1 or ::1; the proxy asks nobody who they are",
      details: { field: "host", value: host },
    });
  }
  const gateway = createGateway({ ...options, external: true });
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    gateway.connect({ kind: "proxy" }, socket).then(
      (refused) => {
        if (refused !== null) socket.destroy();
      },
      (error: Error) => socket.destroy(error),
    );
  });
  const port = await listenMarked(server, { host, port: options.port ?? 0 }).catch((cause: unknown) => {
    throw new AgentKernelError("resource_exhausted", `the proxy cannot listen on ${host}:${options.port ?? 0}`, {
      hint: "choose another port, or 0 for any that is free",
      cause,
    });
  });
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      gateway.close();
    });
  return { host, port, gateway, close };
}
