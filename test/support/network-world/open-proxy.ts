/** A proxy that leads anywhere in the world: HTTP CONNECT, HTTP with absolute addresses, and SOCKS 5. */
import { connect, isIPv6, type Socket } from "node:net";

/** Reads the whole of its greeting from the first chunk; the attacks send it in one. */
export function openProxy(client: Socket): void {
  client.on("error", () => client.destroy());
  client.once("data", (first) => {
    if (first[0] === 5) serveSocks(client);
    else serveHttp(client, first.toString("latin1"));
  });
}

function serveHttp(client: Socket, head: string): void {
  const [, method = "", host = "", port = "80", path = ""] =
    /^(\S+) (?:http:\/\/)?\[?([^\]/\s]+?)\]?(?::(\d+))?(\/\S*)? /.exec(head) ?? [];
  const server = dial(client, host, Number(port));
  server.once("connect", () => {
    if (method === "CONNECT") client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    else server.write(head.replace(/ \S+ /, ` ${path || "/"} `), "latin1");
    join(client, server);
  });
}

function serveSocks(client: Socket): void {
  client.write(Buffer.from([5, 0]));
  client.once("data", (request) => {
    const length = request[4] ?? 0;
    const [host, at] =
      request[3] === 1
        ? [request.subarray(4, 8).join("."), 8]
        : [request.subarray(5, 5 + length).toString("latin1"), 5 + length];
    const server = dial(client, host, request.readUInt16BE(at));
    server.once("connect", () => {
      client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
      join(client, server);
    });
  });
}

function dial(client: Socket, host: string, port: number): Socket {
  const server = connect({ host, port, family: isIPv6(host) ? 6 : 4 });
  server.on("error", () => client.destroy());
  return server;
}

function join(client: Socket, server: Socket): void {
  client.pipe(server);
  server.pipe(client);
}
