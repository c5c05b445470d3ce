/**
 * The proxy inside a sandbox: programs that use proxy variables reach what the gateway leads them to, also where nothing
 * can be captured, and the host reaches ports inside. Every destination is a server of the test's on loopback.
 */
import { expect } from "vitest";
import { proxyAddress } from "../../../src/core/proxy-address.js";
import { LoopbackEgress } from "../../support/loopback-egress.js";
import { answering, withServer } from "../../support/loopback-server.js";
import type { Contract } from "./contract.js";

const networked = { "net.egress": "on" } as const;
const proxy = `http://${proxyAddress.host}:${proxyAddress.port}`;

/** Asks the proxy for the first argument and prints the first line of the answer. */
const CONNECT = `
import socket, sys
s = socket.create_connection(("${proxyAddress.host}", ${proxyAddress.port}), timeout=20)
s.sendall(f"CONNECT {sys.argv[1]} HTTP/1.1\\r\\nHost: {sys.argv[1]}\\r\\n\\r\\n".encode())
print(s.recv(4096).split(b"\\r\\n")[0].decode())
s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
data = b""
while part := s.recv(65536): data += part
print(data.split(b"\\r\\n\\r\\n")[-1].decode())
`;

const SERVE = `
import socket
listener = socket.socket(); listener.bind(("127.0.0.1", 0)); listener.listen()
print(listener.getsockname()[1], flush=True)
s, _ = listener.accept()
data = b""
while part := s.recv(65536): data += part
s.sendall(b"got " + data); s.close()
`;

export function proxyContract(contract: Contract): void {
  contract.capability("network-proxy", (test) => {
    test("leads every connection to the host, which is asked about where it goes", async () => {
      const targets: unknown[] = [];
      await withServer(answering("hello through the proxy"), async (port) => {
        const egress = new LoopbackEgress({ "service.example": {} }, (target) => {
          targets.push(target);
          return port;
        });
        await contract.sandbox({ fields: networked, egress }, async (sandbox) => {
          const { features } = await sandbox.session.ready;
          expect(features).toEqual(expect.arrayContaining(["tcp-in", "tcp-out"]));
          const ran = await sandbox.run(["python3", "-c", CONNECT, "service.example:8080"]);
          expect(targets).toHaveLength(1);
          expect(ran.stdout).toContain("hello through the proxy");
        });
      });
    });

    test("without a network there is none", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const ran = await sandbox.run(["curl", "-sS", "-x", proxy, "http://service.example/"]);
        expect(ran).toMatchObject({ code: 7, stdout: "" });
      });
    });

    test("a port inside is reached from the host, both ways", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const command = await sandbox.start(["python3", "-c", SERVE]);
        const [port = ""] = await command.until(/\d+/);
        const stream = await sandbox.session.connectTcp(Number(port));
        stream.end("a question");
        expect(Buffer.concat(await stream.toArray()).toString()).toBe("got a question");
        await command.ran();
      });
    });
  });
}
