/**
 * Node has no public way to change how a connected socket is read. This takes the handle out of one, for a new socket
 * to be made of with other options.
 */
import type { Socket } from "node:net";

/** Null, and nothing is changed, where the handle cannot be taken. Afterwards the socket is of no use. */
export function takeHandle(socket: Socket): object | null {
  const handle: unknown = Reflect.get(socket, "_handle");
  if (typeof handle !== "object" || handle === null || !("useUserBuffer" in handle) || "encrypted" in socket)
    return null;
  if (socket.destroyed || socket.connecting || socket.readableLength > 0 || socket.writableLength > 0) return null;
  Reflect.set(socket, "_handle", null);
  return handle;
}
