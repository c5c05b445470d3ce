/** How much memory the unpacker takes at most, as the kernel counts it for a process and its children. */
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync } from "node:fs";
import { join } from "node:path";
import type { Actor } from "../../support/actors.js";

const script = `
import json, os, resource, socket, subprocess, sys
program, folder, digest = sys.argv[1:]
ours, theirs = socket.socketpair()
order = {"target": folder + "/target", "below": [], "compression": "gzip", "diffId": digest,
         "maxBytes": 2**32, "maxEntries": 1000, "sync": False}
def place():
    blob = os.open(folder + "/blob", os.O_RDONLY)
    os.dup2(theirs.fileno(), 103)
    os.dup2(blob, 104)
    os.dup2(103, 3)
    os.dup2(104, 4)
child = subprocess.Popen([program, "layer"], preexec_fn=place, pass_fds=(3, 4))
theirs.close()
ours.sendall(json.dumps(order).encode() + b"\\n")
answer = json.loads(ours.makefile().read())
child.wait()
assert answer["event"] == "done", answer
subprocess.run([program, "remove", folder + "/target"], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
`;

/** `folder` has a `blob` and an empty `target`. In MiB. */
export function residentPeakOfChildren(actor: Actor, folder: string, digest: string): number {
  const isRoot = process.getuid?.() === 0;
  for (const path of [folder, join(folder, "target"), join(folder, "blob")]) {
    if (isRoot) chownSync(path, actor.uid, actor.gid);
    chmodSync(path, 0o700);
  }
  const program = join(actor.dist, "native", "ak-unpack");
  const { stdout, stderr } = spawnSync("python3", ["-c", script, program, folder, digest], {
    ...(isRoot ? { uid: actor.uid, gid: actor.gid } : {}),
    encoding: "utf8",
    cwd: "/",
  });
  const peakMiB = Number(stdout.trim());
  if (stdout.trim() === "" || !Number.isFinite(peakMiB)) throw new Error(`the unpacker was not measured: ${stderr}`);
  return peakMiB;
}
