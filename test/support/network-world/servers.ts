/** Runs in the namespace that is the world outside: serves what the test tells it to, until the test is gone. */
import { createServer as createHttp, type RequestListener } from "node:http";
import { createServer as createHttps } from "node:https";
import { createServer as createTcp, type Server, type Socket } from "node:net";
import { createServer as createTls } from "node:tls";
import { NameServer } from "./dns-answers.js";
import { answerHttp } from "./http-answers.js";
import type { ServerSpec, WorldAnswer, WorldCommand, WorldConnection, WorldRequest } from "./messages.js";
import { openProxy } from "./open-proxy.js";

const names = new NameServer();
const connections: WorldConnection[] = [];
const requests: WorldRequest[] = [];

function serverOf(spec: ServerSpec): Server {
  if (spec.kind === "http") {
    const listener: RequestListener = (request, response) => {
      requests.push(answerHttp(spec, request, response));
    };
    return spec.tls === undefined ? createHttp(listener) : createHttps({ ...spec.tls }, listener);
  }
  if (spec.kind === "open-proxy") return createTcp({ allowHalfOpen: true }, openProxy);
  const serve = (socket: Socket) => {
    socket.on("error", () => socket.destroy());
    if (spec.kind === "silent") socket.resume();
    if (spec.kind === "source") socket.end(Buffer.alloc(spec.bytes));
    if (spec.kind !== "echo") return;
    if (spec.greeting !== undefined) socket.write(spec.greeting);
    socket.pipe(socket);
  };
  return spec.kind === "echo" && spec.tls !== undefined
    ? createTls({ ...spec.tls, allowHalfOpen: true }, serve)
    : createTcp({ allowHalfOpen: spec.kind === "echo" }, serve);
}

function listen(address: string, port: number, spec: ServerSpec): Promise<number> {
  const server = serverOf(spec);
  server.on("connection", ({ localAddress = "", localPort = 0, remoteAddress = "" }: Socket) => {
    const plain = (text: string) => text.replace(/^::ffff:/, "");
    connections.push({ address: plain(localAddress), port: localPort, from: plain(remoteAddress) });
  });
  server.on("tlsClientError", (_error: Error, socket: Socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: address, port, backlog: 4096 }, () => {
      const bound = server.address();
      resolve(typeof bound === "object" && bound !== null ? bound.port : port);
    });
  });
}

async function perform(command: WorldCommand): Promise<Omit<WorldAnswer, "id">> {
  switch (command.do) {
    case "serve-names":
      await names.listen(command.address);
      return {};
    case "name":
      names.set(command.name, command.answers);
      return {};
    case "listen":
      return { port: await listen(command.address, command.port, command.server) };
    case "record": {
      const record = { queries: [...names.queries], connections: [...connections], requests: [...requests] };
      if (command.forget) for (const list of [names.queries, connections, requests]) list.length = 0;
      return { record };
    }
  }
}

process.on("message", ({ id, command }: { id: number; command: WorldCommand }) => {
  perform(command).then(
    (answer) => process.send?.({ id, ...answer }),
    (error: unknown) => process.send?.({ id, error: String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));
process.send?.({ id: 0 });
