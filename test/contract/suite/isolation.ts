/** The walls that no backend may be without. Each attempt is first shown to succeed outside, as the same actor. */
import { chmodSync, existsSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import { makeProject } from "../../support/project.js";
import { runOutside } from "../../support/run-as.js";
import type { Contract } from "./contract.js";

function listening(server: Server, where: { port: number; host: string } | { path: string }): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, () => resolve(server));
  });
}

const connect = (family: string, address: string) => `
import socket
s = socket.socket(socket.${family})
s.settimeout(2)
try:
    s.connect(${address})
    print("reached", s.recv(9).decode())
except OSError as e:
    print("not reached")
`;

export function isolationContract(contract: Contract): void {
  const { actor } = contract;

  contract.capability("filesystem-isolation", (test) => {
    test("a file of the host's is not there, by its path or by a link in the project", async () => {
      const outside = makeProject(actor, { "secret.txt": "the host's secret\n" });
      const secret = join(outside.path, "secret.txt");
      const project = makeProject(actor, { "a.txt": "a\n" });
      symlinkSync(secret, join(project.path, "link"));
      const read = (link: string) => ["sh", "-c", `cat ${secret}; cat ${link}; cat /proc/1/root${secret}`];
      expect(runOutside(actor, read(join(project.path, "link"))).stdout).toContain(
        "the host's secret\nthe host's secret\n",
      );
      await contract.sandbox({ projectDir: project.path }, async (sandbox) => {
        expect((await sandbox.run(read("/workspace/link"))).stdout).toBe("");
        expect((await sandbox.sh("cat /workspace/a.txt")).stdout).toBe("a\n");
      });
    });

    test("what is written inside is not on the host", async () => {
      const target = join(actor.folder("outside"), "written");
      const write = ["sh", "-c", `mkdir -p $(dirname ${target}) && echo x > ${target} && cat ${target}`];
      expect(runOutside(actor, write).stdout).toBe("x\n");
      writeFileSync(target, "before");
      chmodSync(target, 0o666);
      await contract.sandbox({}, async (sandbox) => {
        await sandbox.run(write);
        await sandbox.sh("echo x > /agentkernel-contract; echo x > /var/agentkernel-contract");
        const written = await sandbox.sh("echo x > /usr/agentkernel-contract || echo no");
        expect(written.stdout).toBe(contract.hasImage ? "" : "no\n");
      });
      expect(runOutside(actor, ["cat", target]).stdout).toBe("before");
      for (const root of ["/", "/var", "/usr"]) expect(existsSync(join(root, "agentkernel-contract"))).toBe(false);
    });

    test("two sandboxes do not see each other's files and processes", async () => {
      await contract.sandbox({}, async (one) => {
        await contract.sandbox({}, async (other) => {
          await one.sh("echo mine > /tmp/mine; echo mine > /dev/shm/mine");
          const sleeper = await one.start(["sleep", "4007"]);
          await sleeper.exec.opened;
          const look = "ls /tmp /dev/shm; cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -o 'sleep 400[7]'";
          expect((await one.sh(look)).stdout).toContain("sleep 4007");
          expect((await other.sh(look)).stdout).not.toMatch(/mine|sleep 4007/);
        });
      });
    });
  });

  contract.capability("network-isolation", (test) => {
    test("the host's loopback, its interfaces and its sockets are not reached", async () => {
      const name = `agentkernel-attack-contract-${process.pid}-${actor.name}`;
      const hello = () => createServer((socket) => socket.end("the host"));
      const tcp = await listening(hello(), { port: 0, host: "127.0.0.1" });
      const abstract = await listening(hello(), { path: `\0${name}` });
      try {
        const address = tcp.address();
        if (address === null || typeof address === "string") throw new Error("no port");
        const attempts = [
          connect("AF_INET", `("127.0.0.1", ${address.port})`),
          connect("AF_UNIX", `b"\\0${name}".ljust(108, b"\\0")`),
        ];
        const interfaces = "sed -n 's/^ *\\([^ :]*\\):.*/\\1/p' /proc/net/dev";
        expect(await outsideReached(attempts)).toEqual(["reached the host\n", "reached the host\n"]);
        await contract.sandbox({}, async (sandbox) => {
          for (const attempt of attempts) {
            expect((await sandbox.run(["python3", "-c", attempt])).stdout).toBe("not reached\n");
          }
          expect((await sandbox.sh(interfaces)).stdout).toBe("lo\n");
        });
      } finally {
        tcp.close();
        abstract.close();
      }
    });

    test("its own loopback works", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const own = `
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b"own")).start()
print(socket.create_connection(server.getsockname()).recv(3).decode())
`;
        expect((await sandbox.run(["python3", "-c", own])).stdout).toBe("own\n");
      });
    });
  });

  contract.capability("readonly-root", (test) => {
    test("only the project and temporary places are written", async () => {
      const fields = { "fs.rootReadonly": true, "proc.noRoot": true, "proc.landlock": "workspace" } as const;
      const projectDir = makeProject(actor, {}).path;
      await contract.sandbox({ fields, projectDir }, async (sandbox) => {
        const write = (folder: string) =>
          sandbox.sh(`echo x > ${folder}/written`).then(({ code }) => [folder, code === 0]);
        const folders = ["/", "/etc", "/var", "/opt", "/usr", "/run", "/tmp", "/workspace", "/home/sandbox"];
        expect(Object.fromEntries(await Promise.all(folders.map(write)))).toEqual({
          ...Object.fromEntries(["/", "/etc", "/var", "/opt", "/usr", "/run"].map((folder) => [folder, false])),
          ...Object.fromEntries(["/tmp", "/workspace", "/home/sandbox"].map((folder) => [folder, true])),
        });
      });
    });
  });

  /** Beside the servers, which answer from this process. */
  async function outsideReached(attempts: readonly string[]): Promise<readonly string[]> {
    const { spawn } = await import("node:child_process");
    const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
    return Promise.all(
      attempts.map(
        (attempt) =>
          new Promise<string>((resolve, reject) => {
            const child = spawn("/usr/bin/python3", ["-c", attempt], {
              ...identity,
              stdio: ["ignore", "pipe", "ignore"],
            });
            let text = "";
            child.stdout.on("data", (chunk: Buffer) => {
              text += String(chunk);
            });
            child.once("error", reject);
            child.once("close", () => resolve(text));
          }),
      ),
    );
  }
}
