/**
 * A captured network: programs that know nothing of a proxy reach what the gateway leads them to, and nothing else.
 * The gateway here is the test's own, and every destination a server of the test's on loopback.
 */
import { createHash } from "node:crypto";
import { expect } from "vitest";
import { deferred } from "../../../src/core/deferred.js";
import { LoopbackEgress } from "../../support/loopback-egress.js";
import { answering, echo, withServer } from "../../support/loopback-server.js";
import { makeProject } from "../../support/project.js";
import type { Contract } from "./contract.js";
import type { Subject } from "./subject.js";

const MEGABYTE = 1_048_576;
const networked = { "net.egress": "on" } as const;

const python = (script: string) => ["python3", "-c", script];

/** Connects to the first argument (host:port), sends the second, half-closes, prints all that comes back. */
const TALK = `
import socket, sys
host, port = sys.argv[1].rsplit(":", 1)
with socket.create_connection((host.strip("[]"), int(port)), timeout=20) as s:
    s.sendall(sys.argv[2].encode())
    s.shutdown(socket.SHUT_WR)
    data = b""
    while part := s.recv(65536): data += part
print(data.decode())
`;

export function networkContract(contract: Contract): void {
  function captured<T>(egress: LoopbackEgress, use: (sandbox: Subject) => Promise<T>): Promise<T> {
    return contract.sandbox({ fields: networked, egress }, use);
  }

  contract.capability("network", (test) => {
    test("says that the network is captured, and the guest that it serves it", async () => {
      await captured(new LoopbackEgress({}, () => 0), async (sandbox) => {
        expect(sandbox.layers).toContainEqual(expect.objectContaining({ name: "network capture", state: "applied" }));
        expect((await sandbox.session.ready).features).toEqual(expect.arrayContaining(["tcp-in", "tcp-out", "lookup"]));
      });
    });

    test("does not depend on what else a sandbox shows", async () => {
      const egress = new LoopbackEgress({ "service.example": {} }, () => 0);
      const folders = Array.from({ length: 12 }, () => makeProject(contract.actor, { "a.txt": "a\n" }).path);
      const mounts = folders.map((host, index) => ({ host, guest: `/seen/${index}`, readonly: true }));
      for (let shown = 0; shown < folders.length; shown++) {
        const fields = { ...networked, "fs.mounts": mounts.slice(0, shown) };
        await contract.sandbox({ fields, projectDir: folders[11] ?? "", egress }, async (sandbox) => {
          const found = await sandbox.sh(
            "getent ahostsv4 service.example | head -n 1; cat /proc/net/tcp /proc/net/tcp6 | grep -c ' 0A '",
          );
          expect(found.stdout, `${shown} mounts`).toMatch(/^198\.1[89]\..*\n6\n$/);
        });
      }
    });

    test("a program that knows no proxy reaches a name that the gateway knows", async () => {
      await withServer(answering("hello from outside"), async (port) => {
        const egress = new LoopbackEgress({ "service.example": {} }, () => port);
        await captured(egress, async (sandbox) => {
          const ran = await sandbox.run(["curl", "-sS", "http://Service.Example:8080/"]);
          expect([ran.stdout, ran.stderr]).toEqual(["hello from outside", ""]);
          expect(egress.names).toContain("service.example");
          expect(egress.targets).toEqual([{ kind: "name", name: "service.example", port: 8080 }]);
        });
      });
    });

    test.each([
      ["192.0.2.7:2000", { kind: "address", address: "192.0.2.7", port: 2000 }],
      ["[2001:db8::7]:2000", { kind: "address", address: "2001:db8::7", port: 2000 }],
      ["[::ffff:192.0.2.7]:2000", { kind: "address", address: "192.0.2.7", port: 2000 }],
    ] as const)("raw TCP to %s arrives at the gateway as that address", async (to, target) => {
      await withServer(echo, async (port) => {
        const egress = new LoopbackEgress({}, () => port);
        await captured(egress, async (sandbox) => {
          expect((await sandbox.run([...python(TALK), to, "ping"])).stdout).toBe("ping\n");
          expect(egress.targets).toEqual([target]);
        });
      });
    });

    test("a name is found by the C library in the families that it has, always at the same address", async () => {
      const egress = new LoopbackEgress({ "four.example": {}, "both.example": { ipv6: true } }, () => 0);
      await captured(egress, async (sandbox) => {
        const find = async (words: string) => (await sandbox.sh(`getent ${words}`)).stdout.trim().split(/\s+/)[0];
        const four = await find("ahostsv4 four.example");
        expect(four).toMatch(/^198\.1[89]\./);
        expect(await find("ahostsv4 four.example")).toBe(four);
        expect(await find("ahostsv4 both.example")).not.toBe(four);
        expect(await find("ahostsv6 both.example")).toMatch(/^fd61:6b6e:6c00:/);
        expect(await find("ahosts four.example")).toBe(four);
        expect((await sandbox.sh(`getent hosts ${four}`)).stdout).toMatch(/four\.example/);
      });
    });

    test("a name that is not allowed does not exist, at once", async () => {
      const egress = new LoopbackEgress({}, () => 0);
      await captured(egress, async (sandbox) => {
        const ran = await sandbox.run([
          ...python(`
import socket, time
start = time.monotonic()
try: socket.getaddrinfo("denied.example", 443)
except socket.gaierror as e: print(e.errno == socket.EAI_NONAME, time.monotonic() - start < 1)
`),
        ]);
        expect(ran.stdout).toBe("True True\n");
        expect(egress.targets).toEqual([]);
      });
    });

    test("localhost and the sandbox's own name stay inside, whoever is asked", async () => {
      const egress = new LoopbackEgress({}, () => 0);
      await captured(egress, async (sandbox) => {
        const { stdout } = await sandbox.sh(
          "getent ahostsv4 localhost && getent ahostsv4 $(hostname) && cat /etc/resolv.conf",
        );
        // An image may ask for each address as often as it is found (host.conf).
        const addresses = Array.from(stdout.matchAll(/^(\S+)\s+STREAM/gm), ([, address]) => address);
        expect(new Set(addresses)).toEqual(new Set(["127.0.0.1"]));
        expect(stdout).toContain("nameserver 127.0.0.1");
        expect(egress.names).toEqual([]);
      });
    });

    test("a refused destination is a reset connection, at once", async () => {
      const egress = new LoopbackEgress({}, () => ({ code: "denied", message: "no rule allows it" }));
      await captured(egress, async (sandbox) => {
        const ran = await sandbox.run([
          ...python(`
import errno, socket, time
start = time.monotonic()
try:
    s = socket.create_connection(("192.0.2.1", 443), timeout=5)
    print(s.recv(1))
except ConnectionError as e: print(errno.errorcode[e.errno], time.monotonic() - start < 1)
`),
        ]);
        expect(ran.stdout).toBe("ECONNRESET True\n");
      });
    });

    test("what is no TCP and no question about a name is refused at once", async () => {
      await captured(new LoopbackEgress({}, () => 0), async (sandbox) => {
        const ran = await sandbox.run([
          ...python(`
import errno, socket, time
for family, to in [(socket.AF_INET, ("192.0.2.1", 443)), (socket.AF_INET6, ("2001:db8::1", 443)), (socket.AF_INET, ("239.9.9.9", 5353))]:
    start = time.monotonic()
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        try: s.sendto(b"x", to); print("sent")
        except OSError as e: print(errno.errorcode[e.errno], time.monotonic() - start < 1)
`),
        ]);
        expect(ran.stdout).toBe("EPERM True\n".repeat(3));
      });
    });

    test("a connection that one side has half-closed still carries the other way", async () => {
      // The server answers only after its client's end, and the client prints only after the server's.
      await withServer(
        (socket) => {
          let got = "";
          socket.on("data", (chunk) => {
            got += chunk;
          });
          socket.on("end", () => socket.end(`after the end of ${got}`));
        },
        async (port) => {
          await captured(new LoopbackEgress({}, () => port), async (sandbox) => {
            expect((await sandbox.run([...python(TALK), "192.0.2.1:1", "a question"])).stdout).toBe(
              "after the end of a question\n",
            );
          });
        },
      );
    });

    test("a connection that is cut off on either side is cut off on the other", async () => {
      let closed: Promise<boolean> | null = null;
      await withServer(
        (socket) => {
          closed = new Promise((resolve) => socket.once("close", (hadError) => resolve(hadError)));
          socket.once("data", (chunk) => {
            if (String(chunk) === "reset me") socket.resetAndDestroy();
            else socket.write("go on");
          });
        },
        async (port) => {
          await captured(new LoopbackEgress({}, () => port), async (sandbox) => {
            const script = `
import socket, struct
s = socket.create_connection(("192.0.2.1", 80)); s.send(b"reset me")
try: print(s.recv(1))
except ConnectionResetError: print("reset")
s = socket.create_connection(("192.0.2.1", 80)); s.send(b"x"); s.recv(9)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); s.close()
`;
            expect((await sandbox.run(python(script))).stdout).toBe("reset\n");
            expect(await closed).toBe(true);
          });
        },
      );
    });

    test("a hundred megabytes come through whole, both ways", async () => {
      const block = Buffer.alloc(MEGABYTE, "0123456789abcdef of a block that is not all the same\n");
      const sent = createHash("sha256");
      const received = createHash("sha256");
      // The program is done when its last bytes are on their way.
      const arrived = deferred<void>();
      await withServer(
        (socket) => {
          socket.on("data", (chunk) => received.update(chunk));
          socket.once("end", () => arrived.resolve());
          void (async () => {
            for (let count = 0; count < 100; count++) {
              block.writeUInt32LE(count, count * 1000);
              const part = Buffer.from(block);
              sent.update(part);
              if (!socket.write(part)) await new Promise((resolve) => socket.once("drain", resolve));
            }
            socket.end();
          })();
        },
        async (port) => {
          await captured(new LoopbackEgress({}, () => port), async (sandbox) => {
            const script = `
import hashlib, socket, threading
s = socket.create_connection(("192.0.2.1", 80))
up = hashlib.sha256()
def send():
    for count in range(100):
        part = count.to_bytes(4, "big") * 262144
        up.update(part); s.sendall(part)
    s.shutdown(socket.SHUT_WR)
sender = threading.Thread(target=send); sender.start()
down = hashlib.sha256()
while part := s.recv(1 << 20): down.update(part)
sender.join()
print(down.hexdigest(), up.hexdigest())
`;
            const [down, up] = (await sandbox.run(python(script))).stdout.trim().split(" ");
            expect(down).toBe(sent.digest("hex"));
            await arrived.promise;
            expect(up).toBe(received.digest("hex"));
          });
        },
      );
    });

    test("a thousand connections are open at once, and none is left", async () => {
      await withServer(echo, async (port, sockets) => {
        const egress = new LoopbackEgress({ "many.example": {} }, () => port);
        await captured(egress, async (sandbox) => {
          const script = `
import socket, sys
all = [socket.create_connection(("many.example", 9000), timeout=30) for _ in range(1000)]
for i, s in enumerate(all): s.sendall(str(i).encode())
print(sum(s.recv(9) == str(i).encode() for i, s in enumerate(all)), flush=True)
sys.stdin.read()
`;
          const command = await sandbox.start(python(script), { stdin: true });
          await command.until(/1000/);
          expect([egress.open, sockets.size]).toEqual([1000, 1000]);
          command.exec.endStdin();
          expect((await command.ran()).code).toBe(0);
          await until(() => egress.open === 0 && sockets.size === 0);
        });
      });
    });

    test("a port inside is reached from the host, on either loopback address, both ways", async () => {
      await captured(new LoopbackEgress({}, () => 0), async (sandbox) => {
        const server = `
import socket, threading
def serve(family, address):
    listener = socket.socket(family); listener.bind((address, 0)); listener.listen()
    print(listener.getsockname()[1], end=" ", flush=True)
    while True:
        s, _ = listener.accept()
        data = b""
        while part := s.recv(65536): data += part
        s.sendall(address.encode() + b" got " + data); s.close()
for pair in [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]:
    threading.Thread(target=serve, args=pair).start()
`;
        const command = await sandbox.start(python(server));
        const [, first = "", second = ""] = await command.until(/(\d+) (\d+) /);
        const talk = async (port: string) => {
          const stream = await sandbox.session.connectTcp(Number(port));
          stream.end("a question");
          return Buffer.concat(await stream.toArray()).toString();
        };
        const answers = [await talk(first), await talk(second)].sort();
        expect(answers).toEqual(["127.0.0.1 got a question", "::1 got a question"]);
        await expect(sandbox.session.connectTcp(9)).rejects.toMatchObject({ code: "not_found" });
        command.exec.close();
        await command.ran();
      });
    });
  });
}

/** Waits for what the kernel and the protocol do in their own time; the test's own time limit ends it. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
