/**
 * Connections of which nobody knows yet who is at their other end. There are few places for them, and the one that has
 * waited longest makes room: whoever opens many and says nothing on them keeps out only themselves.
 */
import type { Socket } from "node:net";

export const MOST_NEWCOMERS = 512;

export class Newcomers {
  readonly #most: number;
  /** By their far end, which TLS does not change. Oldest first. */
  readonly #sockets = new Map<string, Socket>();

  constructor(most: number = MOST_NEWCOMERS) {
    this.#most = most;
  }

  enter(socket: Socket): void {
    const name = farEnd(socket);
    this.#sockets.set(name, socket);
    socket.once("close", () => {
      if (this.#sockets.get(name) === socket) this.#sockets.delete(name);
    });
    if (this.#sockets.size <= this.#most) return;
    const [oldest] = this.#sockets;
    if (oldest === undefined) return;
    this.#sockets.delete(oldest[0]);
    oldest[1].destroy();
  }

  /** It is known who asks on this connection. */
  isKnown(socket: Socket): void {
    this.#sockets.delete(farEnd(socket));
  }
}

function farEnd({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
