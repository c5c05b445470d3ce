import { execFileSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { linuxBackend } from "../../src/backends/linux/index.js";
import { Subject } from "../contract/suite/subject.js";
import { type Actor, actors } from "../support/actors.js";
import { journalOf } from "../support/linux-backend.js";
import { LoopbackEgress } from "../support/loopback-egress.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { repository } from "../support/repository.js";
import { startedBy } from "../support/run-as.js";

function backendWithoutNfTables(actor: Actor) {
  const folder = actor.folder("without");
  chmodSync(folder, 0o755);
  const filter = join(folder, "without-nf-tables");
  execFileSync("gcc", ["-O1", "-static", "-Wall", "-o", filter, join(repository, "test/faults/without-nf-tables.c")]);
  const native = join(actor.dist, "native");
  const jail = join(folder, "ak-jail");
  writeFileSync(jail, `#!/bin/sh\nexec ${filter} ${join(native, "ak-jail")} "$@"\n`);
  chmodSync(jail, 0o755);
  const jailBinary = startedBy(actor, jail);
  return linuxBackend({ jailBinary, guestBinary: join(native, "ak-guest"), journalDir: journalOf(actor) });
}

describe.each(actors)("on a kernel without nf_tables, as $name", (actor) => {
  leavesNothingBehind();

  it("a sandbox that is to have a network says that it has none, and nothing gets out", async () => {
    const egress = new LoopbackEgress({ "service.example": {} }, () => 0);
    const sandbox = await Subject.boot(backendWithoutNfTables(actor), { fields: { "net.egress": "on" }, egress });
    try {
      const layer = sandbox.layers.find(({ name }) => name === "network capture");
      expect(layer).toMatchObject({ state: "absent", detail: expect.stringMatching(/no network: .*nf_tables rules/) });
      expect((await sandbox.session.ready).features).not.toContain("tcp-out");
      const script = `
import errno, socket
try: socket.create_connection(("192.0.2.1", 80), timeout=5)
except OSError as e: print(errno.errorcode[e.errno])
with socket.socket() as listener:
    listener.bind(("127.0.0.1", 0)); listener.listen()
    socket.create_connection(listener.getsockname(), timeout=5).close(); print("loopback works")
`;
      expect((await sandbox.run(["python3", "-c", script])).stdout).toBe("ENETUNREACH\nloopback works\n");
      expect((await sandbox.sh("getent hosts service.example")).code).toBe(2);
      expect([egress.names, egress.targets]).toEqual([[], []]);
    } finally {
      await sandbox.kill();
    }
  });
});
