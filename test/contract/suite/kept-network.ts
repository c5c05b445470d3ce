/** The network of a kept sandbox belongs to its owner: without one there is none. */
import { createServer } from "node:net";
import { expect } from "vitest";
import { LoopbackEgress } from "../../support/loopback-egress.js";
import type { Contract } from "./contract.js";
import { adoptPersistent, inStateFolder, startPersistent } from "./kept-subject.js";
import { bootSpec } from "./subject.js";

const networked = { "net.egress": "on" } as const;
/** Connects, says so, and tells how the connection ended; then tries once more. */
const holding = `
import socket, sys
def ended(connection):
    # Where nobody tells a guest that its owner is gone, it learns so from the next one, which may take its time to come.
    connection.settimeout(None)
    try:
        return "data" if connection.recv(1) else "closed"
    except OSError as error:
        return type(error).__name__
first = socket.create_connection(("service.example", 80), 10)
print("connected", flush=True)
print(ended(first), flush=True)
try:
    socket.getaddrinfo("other.example", 80)
except OSError as error:
    print(type(error).__name__, flush=True)
try:
    print(ended(socket.create_connection(("192.0.2.1", 80), 10)), flush=True)
except OSError as error:
    print(type(error).__name__, flush=True)
`;

export function keptNetworkContract(contract: Contract): void {
  const { backend, actor } = contract;
  const { kept } = backend;
  if (kept === undefined) return;

  contract.capability("network", (test) => {
    test("connections of an owner that is gone are reset, and without an owner there is no network", async () => {
      const folder = actor.ownFolder("state");
      const server = createServer((socket) => socket.on("error", () => {}).resume());
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      const egress = new LoopbackEgress({ "service.example": {} }, () => port);
      await inStateFolder(kept, folder, async () => {
        const first = await startPersistent(kept, bootSpec({ fields: networked }), folder, egress);
        const command = await first.start(["python3", "-c", holding], { key: "k" });
        await command.until(/connected/);
        first.session.destroy();
        first.sandbox.release();
        const second = await adoptPersistent(kept, folder);
        const resumed = await second.attach("k", { stdout: 0 });
        const { stdout } = await resumed.ran();
        const [connected, lost, unknown, refused] = stdout.split("\n");
        expect([connected, lost]).toEqual(["connected", "ConnectionResetError"]);
        // Whether the second owner was there already when it asked, or nobody, it gets nowhere.
        expect(unknown).toBe("gaierror");
        expect(refused).toBe("ConnectionResetError");
      }).finally(() => server.close());
    });
  });
}
