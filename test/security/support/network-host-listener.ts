/** A service on the host's side of a world, on every address that the host has there, its loopback among them. */
import type { Actor } from "../../support/actors.js";
import type { NetworkWorld } from "../../support/network-world.js";
import { type HeldRun, holdCli } from "./process-answers.js";

/** Prints its port, and a line for each connection; answers any request. */
const SERVE = `
import socket, sys, threading
s = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64)
def serve():
    while True:
        c, peer = s.accept()
        print("CONNECTION from", peer[0], flush=True)
        c.recv(65536)
        c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 7\\r\\nConnection: close\\r\\n\\r\\nservice")
        c.close()
threading.Thread(target=serve, daemon=True).start()
print("port", s.getsockname()[1], flush=True)
sys.stdin.read()
`;

export class HostListener {
  readonly port: number;
  readonly #run: HeldRun;

  private constructor(port: number, run: HeldRun) {
    this.port = port;
    this.#run = run;
  }

  static async start(world: NetworkWorld, actor: Actor): Promise<HostListener> {
    const run = holdCli(world.spawn(actor, ["/usr/bin/python3", "-c", SERVE]));
    const [, port] = await run.saw(/port (\d+)/);
    return new HostListener(Number(port), run);
  }

  /** Who has connected so far. */
  connections(): readonly string[] {
    return this.#run.stdout().match(/CONNECTION.*/g) ?? [];
  }

  async stop(): Promise<void> {
    await this.#run.release();
  }
}
