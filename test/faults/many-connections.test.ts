import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Subject } from "../contract/suite/subject.js";
import { actors } from "../support/actors.js";
import { linuxBackendOf } from "../support/linux-backend.js";
import { LoopbackEgress } from "../support/loopback-egress.js";
import { echo, withServer } from "../support/loopback-server.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { awaitGuest, awaitJail } from "../support/process-tree.js";

const SHORT = 10_000;
/** Of the process that a guest keeps ready for the next command once it has been asked twice, when it finds time. */
const KEPT_READY = 5;

/** Some end in order, some are reset, some are given up before an answer could come. */
const CONNECT = `
import socket, struct, sys
for i in range(int(sys.argv[1])):
    s = socket.create_connection(("short.example" if i % 3 else "192.0.2.1", 80), timeout=20)
    if i % 4:
        s.sendall(b"x")
        assert s.recv(1) == b"x"
    if i % 5 == 0: s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
print("done")
`;

function openFiles(pid: number | "self"): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function memoryKiB(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]);
}

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  it("ten thousand short connections leave nothing open, in the guest or on the host", {
    timeout: 180_000,
  }, async () => {
    await withServer(echo, async (port, sockets) => {
      const egress = new LoopbackEgress({ "short.example": {} }, () => port);
      const sandbox = await Subject.boot(linuxBackendOf(actor), { fields: { "net.egress": "on" }, egress });
      try {
        const guest = awaitGuest(awaitJail(process.pid));
        expect((await sandbox.run(["python3", "-c", CONNECT, "100"])).stdout).toBe("done\n");
        await settled(egress, sockets);
        const before = { guest: openFiles(guest), host: openFiles("self") };
        expect((await sandbox.run(["python3", "-c", CONNECT, String(SHORT)])).stdout).toBe("done\n");
        await settled(egress, sockets);
        expect(egress.targets).toHaveLength(SHORT + 100);
        expect(openFiles(guest)).toBeLessThanOrEqual(before.guest + KEPT_READY);
        expect(openFiles("self")).toBe(before.host);
        // Given back once it is idle: what it holds then is what an idle guest holds.
        await until(() => memoryKiB(guest) < 1024);
      } finally {
        await sandbox.kill();
      }
    });
  });
});

async function settled(egress: LoopbackEgress, sockets: ReadonlySet<unknown>): Promise<void> {
  await until(() => egress.open === 0 && sockets.size === 0);
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
