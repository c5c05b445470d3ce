/** A TCP server of the test's on loopback, for as long as `use` takes. */
import { type AddressInfo, createServer, type Socket } from "node:net";

export async function withServer<T>(
  serve: (socket: Socket) => void,
  use: (port: number, sockets: ReadonlySet<Socket>) => Promise<T>,
): Promise<T> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // A client that was reset is what some tests are about; others see it by what they did not get.
    socket.on("error", () => {});
    serve(socket);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, resolve);
  });
  try {
    return await use((server.address() as AddressInfo).port, sockets);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}

/** Sends back what it gets, and ends when its client does. */
export function echo(socket: Socket): void {
  socket.pipe(socket);
}

/** An HTTP/1.0 answer to whatever is asked. */
export function answering(text: string): (socket: Socket) => void {
  return (socket) => {
    let request = "";
    socket.on("data", (chunk) => {
      request += chunk;
      if (request.includes("\r\n\r\n")) socket.end(`HTTP/1.0 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
    });
  };
}
