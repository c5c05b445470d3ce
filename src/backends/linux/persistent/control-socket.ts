/** Connections to a supervisor's socket, whatever the length of its path: a socket's may have 107 bytes. */
import { type FileHandle, open } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";

const NAME = "control";
const MAX_PATH_BYTES = 107;
/** No socket, one that nobody has open, and one whose owner closed it before it took the connection. */
const NOBODY = new Set<string | undefined>(["ENOENT", "ECONNREFUSED", "ECONNRESET"]);

/**
 * Connected, or null where nobody listens. `prepare` is called in the turn in which the connection is made, before
 * anything is read from it.
 */
export async function connectControl<T>(stateDir: string, prepare: (socket: Socket) => T): Promise<T | null> {
  const path = join(stateDir, NAME);
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return await connectTo(path, prepare);
  let folder: FileHandle;
  try {
    folder = await open(stateDir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  try {
    return await connectTo(`/proc/self/fd/${folder.fd}/${NAME}`, prepare);
  } finally {
    await folder.close();
  }
}

function connectTo<T>(path: string, prepare: (socket: Socket) => T): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    const failed = (error: NodeJS.ErrnoException) => {
      if (NOBODY.has(error.code)) resolve(null);
      else reject(error);
    };
    socket.once("error", failed);
    socket.once("connect", () => {
      socket.off("error", failed);
      resolve(prepare(socket));
    });
  });
}
