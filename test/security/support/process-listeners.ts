/** Real servers on the host, of every kind that a sandbox without a network must not reach. All answer "REACHED". */
import { randomBytes } from "node:crypto";
import { createSocket, type Socket } from "node:dgram";
import { chmodSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import type { Actor } from "../../support/actors.js";

/** What to try, in the words of REACH. */
export type Target = readonly [kind: "tcp4" | "tcp6" | "udp4" | "udp6" | "unix", address: string, port: number];

export class Listeners implements AsyncDisposable {
  readonly targets: Target[] = [];
  readonly #servers: (Server | Socket)[] = [];

  /** On every loopback address there is, as an abstract socket, and as a socket file in a folder of the actor's. */
  static async start(actor: Actor): Promise<Listeners> {
    const made = new Listeners();
    for (const [kind, host] of [
      ["tcp4", "127.0.0.1"],
      ["tcp6", "::1"],
    ] as const) {
      const server = await made.#listen({ host, port: 0 });
      made.targets.push([kind, host, (server.address() as AddressInfo).port]);
    }
    for (const [kind, type, host] of [
      ["udp4", "udp4", "127.0.0.1"],
      ["udp6", "udp6", "::1"],
    ] as const) {
      made.targets.push([kind, host, await made.#answerDatagrams(type, host)]);
    }
    // As long as such a name can be: Node fills shorter ones up with zeros, which then belong to the name.
    const abstract = `agentkernel-attack-${randomBytes(44).toString("hex")}`;
    await made.#listen({ path: `\0${abstract}` });
    made.targets.push(["unix", `@${abstract}`, 0]);
    made.targets.push(["unix", await made.unixIn(actor.folder("outside")), 0]);
    return made;
  }

  /** A socket file that everybody may connect to. */
  async unixIn(folder: string): Promise<string> {
    const path = join(folder, "service.sock");
    await this.#listen({ path });
    chmodSync(path, 0o777);
    return path;
  }

  async #listen(where: { host?: string; port?: number; path?: string }): Promise<Server> {
    const server = createServer((socket) => {
      // A client that was killed is no news here.
      socket.on("error", () => {});
      socket.resume();
      socket.end("REACHED");
    });
    this.#servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(where, resolve);
    });
    return server;
  }

  async #answerDatagrams(type: "udp4" | "udp6", host: string): Promise<number> {
    const socket = createSocket(type);
    this.#servers.push(socket);
    socket.on("message", (_, from) => socket.send("REACHED", from.port, from.address));
    await new Promise<void>((resolve) => socket.bind(0, host, resolve));
    return socket.address().port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
  }
}

/** Tries every target of its first argument (JSON) and prints each address with the answer, or with the errno. */
export const REACH = `
import json, socket, sys
FAMILY = {"tcp4": socket.AF_INET, "udp4": socket.AF_INET, "tcp6": socket.AF_INET6, "udp6": socket.AF_INET6, "unix": socket.AF_UNIX}
for kind, address, port in json.loads(sys.argv[1]):
    try:
        with socket.socket(FAMILY[kind], socket.SOCK_DGRAM if kind.startswith("udp") else socket.SOCK_STREAM) as s:
            s.settimeout(0.5)
            where = address.replace("@", "\\0", 1) if kind == "unix" else (address, port)
            s.connect(where)
            s.send(b"hello")
            print(kind, address, s.recv(99).decode())
    except OSError as e:
        print(kind, address, e.errno if e.errno else "timeout")
`;

/** Those that were reached. */
export function reached(stdout: string): readonly string[] {
  return stdout.split("\n").filter((line) => line.endsWith("REACHED"));
}
