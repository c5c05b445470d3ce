/**
 * Asks a server on kept connections and does as little as can be done besides: what is measured is the server, as what
 * it is compared with is measured by a stopwatch in C and not by Node.
 */
import { connect } from "node:net";

const END_OF_HEAD = "\r\n\r\n";

export class HttpClient {
  #place;
  #idle = [];
  #all = [];

  /** A port of this machine's (`{ port, key }`), or a Unix socket (`{ path }`). */
  constructor(place) {
    this.#place = place;
  }

  /** The answer's data. A body that is no text is sent as JSON. */
  async ask(method, path, body) {
    const connection = this.#idle.pop() ?? (await this.#open());
    const answer = await connection.exchange(requestText(this.#place, method, path, body));
    this.#idle.push(connection);
    const { success, data, error } = JSON.parse(answer);
    if (success) return data;
    throw new Error(`${method} ${path}: ${JSON.stringify(error)}`);
  }

  close() {
    for (const connection of this.#all) connection.socket.destroy();
  }

  #open() {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", noDelay: true, ...this.#place });
      socket.once("error", reject);
      socket.once("connect", () => {
        const connection = new Connection(socket);
        this.#all.push(connection);
        resolve(connection);
      });
    });
  }
}

/** One exchange at a time. */
class Connection {
  #text = "";
  #wanted = null;

  constructor(socket) {
    this.socket = socket;
    socket.setEncoding("latin1").on("data", (chunk) => {
      this.#text += chunk;
      this.#look();
    });
    socket.on("close", () => this.#wanted?.reject(new Error("the server closed the connection")));
  }

  exchange(request) {
    return new Promise((resolve, reject) => {
      this.#wanted = { resolve, reject };
      this.socket.write(request);
    });
  }

  #look() {
    const head = this.#text.indexOf(END_OF_HEAD);
    if (head < 0) return;
    const length = Number(/^content-length: *(\d+)/im.exec(this.#text.slice(0, head))?.[1]);
    if (Number.isNaN(length)) throw new Error(`no length: ${this.#text.slice(0, head)}`);
    const start = head + END_OF_HEAD.length;
    if (this.#text.length < start + length) return;
    const body = Buffer.from(this.#text.slice(start, start + length), "latin1").toString();
    this.#text = "";
    const { resolve } = this.#wanted;
    this.#wanted = null;
    resolve(body);
  }
}

function requestText({ port, key }, method, path, body = "") {
  const [type, text] = typeof body === "string" ? ["octet-stream", body] : ["json", JSON.stringify(body)];
  const host = port === undefined ? "localhost" : `127.0.0.1:${port}`;
  const about = `content-type: application/${type}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n`;
  const who = key === undefined ? "" : `authorization: Bearer ${key}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${who}${text === "" ? "" : about}\r\n${text}`;
}
