// A client of HTTP that costs next to nothing, for figures about a server: one kept connection to a socket, one request at
// a time, answers with a length. What Node's own client takes for a request is about what the server takes.
import { connect } from "node:net";

const HEAD_END = "\r\n\r\n";

export function openRaw(socketPath) {
  const socket = connect(socketPath);
  socket.setEncoding("latin1");
  let text = "";
  let settle = null;
  const fail = (error) => {
    settle?.reject(error ?? new Error("the server closed the connection"));
    settle = null;
  };
  socket.on("data", (chunk) => {
    text += chunk;
    const head = text.indexOf(HEAD_END);
    if (head < 0) return;
    const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head))?.[1];
    if (length === undefined) {
      fail(new Error(`an answer without a length: ${text.slice(0, head)}`));
      return;
    }
    const end = head + HEAD_END.length + Number(length);
    if (text.length < end) return;
    const body = text.slice(head + HEAD_END.length, end);
    text = text.slice(end);
    settle?.resolve(body);
    settle = null;
  });
  socket.on("error", fail);
  socket.on("close", () => fail());
  return {
    /** `request` is made by `rawRequest`. Resolves with the body. */
    ask: (request) =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject };
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}

export function rawRequest(method, path, body = "") {
  const about = body === "" ? "" : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${about}\r\n${body}`);
}
