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
    test("what is asked of it arrives at the host, which decides where it leads", async () => {
      await withServer(answering("hello through the proxy"), async (port) => {
        const egress = new LoopbackEgress({}, () => port);
        await contract.sandbox({ fields: networked, egress }, async (sandbox) => {
          expect((await sandbox.session.ready).features).toEqual(expect.arrayContaining(["tcp-in", "tcp-out"]));
          const ran = await sandbox.run(["curl", "-sS", "-x", proxy, "http://service.example:8080/"]);
          expect([ran.stdout, ran.stderr]).toEqual(["hello through the proxy", ""]);
          expect(egress.targets).toEqual([{ kind: "proxy" }]);
        });
      });
    });

    test("a destination that the host refuses is a connection that ends at once", async () => {
      const egress = new LoopbackEgress({}, () => ({ code: "denied", message: "no rule allows it" }));
      await contract.sandbox({ fields: networked, egress }, async (sandbox) => {
        const ran = await sandbox.run(["curl", "-sS", "-x", proxy, "http://denied.example/"]);
        expect(ran.code).not.toBe(0);
        expect(ran.stdout).toBe("");
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
