/** Ports of the host that lead to ports inside a sandbox, through the guest's stream. */
import { createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { AgentKernelError } from "../core/errors.js";
import { listenMarked } from "../core/own-ports.js";

export interface PublishedPort {
  /** An address of the host; loopback unless the user says otherwise. */
  readonly address: string;
  /** 0: any that is free. */
  readonly hostPort: number;
  readonly guestPort: number;
}

export interface OpenPort extends PublishedPort {
  close(): Promise<void>;
}

/** Connections of one port at once; more are refused, as by a server whose queue is full. */
const MOST_CONNECTIONS = 1024;

/** All or none are open when it returns. `connect` reaches the port inside. */
export async function openPorts(
  ports: readonly PublishedPort[],
  connect: (guestPort: number) => Promise<Duplex>,
): Promise<readonly OpenPort[]> {
  const open: OpenPort[] = [];
  try {
    for (const port of ports) open.push(await openPort(port, connect));
    return open;
  } catch (error) {
    await closePorts(open);
    throw error;
  }
}

export async function closePorts(ports: readonly OpenPort[]): Promise<void> {
  await Promise.all(ports.map((port) => port.close()));
}

async function openPort(port: PublishedPort, connect: (guestPort: number) => Promise<Duplex>): Promise<OpenPort> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // A client that goes away is no news: its connection ends.
    socket.on("error", () => {});
    void join(socket, connect(port.guestPort));
  });
  server.maxConnections = MOST_CONNECTIONS;
  const hostPort = await listen(server, port);
  return {
    ...port,
    hostPort,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** A port that nobody listens on inside is one that cannot be connected to. */
async function join(socket: Socket, connecting: Promise<Duplex>): Promise<void> {
  let inside: Duplex;
  try {
    inside = await connecting;
  } catch {
    socket.resetAndDestroy();
    return;
  }
  inside.on("error", () => socket.destroy());
  if (socket.destroyed) {
    // Gone while we connected: nothing will ever end the connection inside.
    inside.destroy();
    return;
  }
  inside.once("close", () => {
    if (!socket.writableEnded) socket.destroy();
  });
  socket.once("close", () => inside.destroy());
  socket.pipe(inside);
  inside.pipe(socket);
}

async function listen(server: Server, { address, hostPort }: PublishedPort): Promise<number> {
  try {
    return await listenMarked(server, { host: address, port: hostPort });
  } catch (cause) {
    const isTaken = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
    const why = isTaken ? "it is in use" : cause instanceof Error ? cause.message : String(cause);
    throw new AgentKernelError("conflict", `the port ${address}:${hostPort} cannot be published: ${why}`, {
      hint: "choose another port of this machine, or 0 for any that is free",
      cause,
    });
  }
}
