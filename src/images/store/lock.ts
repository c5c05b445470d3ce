/**
 * Locks between processes that the kernel drops with their holder, however it dies: an abstract Unix socket, bound by
 * name. They save work and put steps in order; that nothing is damaged never rests on them alone, since a process in
 * another network namespace does not see them.
 */
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

interface HeldLock {
  release(): Promise<void>;
}

/** Null where another holds it. */
export function tryLock(name: string): Promise<HeldLock | null> {
  return new Promise((resolve, reject) => {
    const waiting = new Set<Socket>();
    const server = createServer((socket) => {
      waiting.add(socket);
      socket.unref();
      socket.on("error", () => {});
      socket.once("close", () => waiting.delete(socket));
    });
    server.once("error", (error) => {
      if ("code" in error && error.code === "EADDRINUSE") resolve(null);
      else reject(error);
    });
    server.listen({ path: `\0${name}`, exclusive: true }, () => {
      server.unref();
      resolve({
        release: () =>
          new Promise<void>((released) => {
            server.close(() => released());
            // Those who wait are told by the end of their connection.
            for (const socket of waiting) socket.destroy();
          }),
      });
    });
  });
}

/** Resolves when the holder let go or died, or after the time; the caller tries again. */
export function lockReleased(name: string, timeoutMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: `\0${name}` });
    const timer = setTimeout(() => socket.destroy(), timeoutMs);
    const abort = (): void => {
      socket.destroy();
    };
    signal?.addEventListener("abort", abort, { once: true });
    // A refused connection means that the lock is free by now.
    socket.on("error", () => {});
    socket.resume();
    socket.once("close", () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      if (signal?.aborted === true) reject(signal.reason);
      else resolve();
    });
  });
}

/** Null where it could not be had in time. */
export async function waitForLock(name: string, timeoutMs: number, signal?: AbortSignal): Promise<HeldLock | null> {
  const deadlineMs = Date.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    const held = await tryLock(name);
    if (held !== null) return held;
    const leftMs = deadlineMs - Date.now();
    if (leftMs <= 0) return null;
    await lockReleased(name, leftMs, signal);
    // Lets many that wait for the same lock come one after the other.
    await pause(Math.random() * 10);
  }
}
