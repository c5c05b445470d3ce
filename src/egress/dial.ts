/**
 * Connecting to one of several addresses that were checked (RFC 8305): families take turns, the next address is tried
 * when the one before failed or was slow, the first to connect wins and the others are ended. Never given a name.
 */
import { connect, type Socket } from "node:net";
import type { Address } from "../core/address/address.js";

interface DialTarget {
  readonly address: string;
  readonly family: 4 | 6;
  readonly port: number;
  /** Ends an attempt that is not wanted any more; without effect once it is connected. */
  readonly signal: AbortSignal;
}

export type Dial = (target: DialTarget) => Promise<Socket>;

const KEEP_ALIVE_MS = 60_000;
const STAGGER_MS = 250;
const MAX_ATTEMPTS = 8;
const NOT_WANTED = new Error("another address was quicker, or nobody waits any more");

export const dialTcp: Dial = ({ address, family, port, signal }) =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = connect({
      host: address,
      port,
      family,
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
    });
    const abort = () => {
      socket.destroy();
      reject(signal.reason);
    };
    const settle = () => {
      signal.removeEventListener("abort", abort);
      socket.off("error", fail);
      socket.off("connect", connected);
    };
    const fail = (error: Error) => {
      settle();
      reject(error);
    };
    const connected = () => {
      settle();
      resolve(socket);
    };
    signal.addEventListener("abort", abort, { once: true });
    // After an abort the socket may still report its end.
    socket.on("error", () => {});
    socket.once("error", fail);
    socket.once("connect", connected);
  });

/** The first family stays first, as the resolver sorted it. */
export function interleave(addresses: readonly Address[]): readonly Address[] {
  const first = addresses[0]?.family;
  const same = addresses.filter((one) => one.family === first);
  const other = addresses.filter((one) => one.family !== first);
  return same
    .flatMap((one, i) => [one, ...(other[i] === undefined ? [] : [other[i]])])
    .concat(other.slice(same.length));
}

export interface Dialled {
  readonly socket: Socket;
  readonly address: Address;
}

/** Rejects with the error of the attempt that failed last, or with the signal's reason. */
export function dialFirst(
  addresses: readonly Address[],
  port: number,
  dial: Dial,
  signal: AbortSignal,
): Promise<Dialled> {
  const queue = [...interleave(addresses)].slice(0, MAX_ATTEMPTS);
  const race = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let running = 0;
  let over = false;
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => {
      over = true;
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      settle();
      if (running > 1 || signal.aborted) race.abort(NOT_WANTED);
    };
    const abort = () => finish(() => reject(signal.reason));
    const attempt = () => {
      clearTimeout(timer);
      const address = queue.shift();
      if (address === undefined) return;
      running++;
      if (queue.length > 0) timer = setTimeout(attempt, STAGGER_MS);
      dial({ address: address.text, family: address.family, port, signal: race.signal }).then(
        (socket) => {
          if (over) socket.destroy();
          else finish(() => resolve({ socket, address }));
        },
        (error: unknown) => {
          running--;
          if (over) return;
          if (queue.length > 0) attempt();
          else if (running === 0) finish(() => reject(error));
        },
      );
    };
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    attempt();
    if (running === 0) finish(() => reject(new TypeError("there is no address to dial")));
  });
}
