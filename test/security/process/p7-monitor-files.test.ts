/** What a virtual machine's monitor may only read, it cannot open for writing through its own descriptors. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import type { JailSpec } from "../../../src/backends/linux/jail-spec.js";
import { type Actor, actors } from "../../support/actors.js";
import { leavesNothingBehind } from "../../support/nothing-left.js";
import { own, projectWith } from "../support/process-programs.js";

const EACCES = 13;
const EROFS = 30;

/** A jail around a program of ours in the monitor's place, with these files. */
function monitorJail(actor: Actor, program: string, paths: readonly string[]): JailSpec {
  return {
    version: 1,
    hostname: "monitor",
    guest: program,
    ids: "single",
    user: { uid: 1000, gid: 1000 },
    root: { kind: "layers", layers: [actor.ownFolder("root")] },
    rootReadonly: true,
    scratchMib: 4,
    tmpMib: 4,
    views: [],
    hide: [],
    protect: [],
    review: [],
    capabilities: "none",
    seccomp: "strict",
    landlockWritable: [],
    limits: { vcpus: 1, memoryMib: 64, pids: 8, openFiles: 64 },
    network: "none",
    trustedCertificate: null,
    journal: actor.ownFolder("journal"),
    monitor: {
      words: ["run"],
      files: paths.map((path) => ({ path, writable: path.endsWith("disk") })),
      kvm: false,
      unixSockets: false,
    },
  };
}

async function said(actor: Actor, spec: JailSpec): Promise<string> {
  const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
  const child = spawn(join(actor.dist, "native", "ak-jail"), ["run"], {
    ...identity,
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["ignore", "ignore", "inherit", "pipe", "pipe"],
  });
  const [, , , control, stream] = child.stdio as unknown as Duplex[];
  if (control === undefined || stream === undefined) throw new Error("the jail has no streams");
  control.write(`${JSON.stringify(spec)}\n`);
  const gone = once(child, "exit");
  // Its stream ends with it, and then the jail may go.
  stream.resume().once("end", () => control.end());
  const events = await text(control);
  await gone;
  return events;
}

describe.each(actors)("P7 files of a monitor, as $name", (actor) => {
  leavesNothingBehind();

  it("what it is to read is on a read-only mount, and its disk is not", async () => {
    const folder = actor.ownFolder("files");
    const paths = ["kernel", "root", "disk"].map((name) => {
      const path = join(folder, name);
      // Whoever owns it could open it for writing by its path.
      writeFileSync(path, "as it was", { mode: 0o600 });
      return own(actor, path);
    });
    const program = join(projectWith(actor, "process/reopen"), "reopen");
    const events = await said(actor, monitorJail(actor, program, paths));
    // Of root's files it owns none. Those of a user it does, and then the mount answers, before Landlock is asked: so
    // this holds on a kernel without it.
    const errno = actor.name === "root" ? EACCES : EROFS;
    expect(events).toContain(`4 ${errno}\\n5 ${errno}\\n6 `);
    const [kernel, root] = paths.map((path) => readFileSync(path, "utf8"));
    expect([kernel, root]).toEqual(["as it was", "as it was"]);
  });
});
