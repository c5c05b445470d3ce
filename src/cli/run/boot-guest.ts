/** Proof that sandboxes work here: one is booted and a command run in it. */
import { AgentKernelError } from "../../core/errors.js";
import { resolve } from "../../policy/resolve.js";
import { openBackend } from "../../runtime/open-backend.js";
import { TemporarySandbox, temporaryId } from "../../runtime/temporary-sandbox.js";
import type { Invocation } from "../invocation/index.js";

export async function bootGuest(invocation: Invocation, signal: AbortSignal): Promise<{ readonly ms: number }> {
  const startedAt = performance.now();
  const { policy } = resolve({
    flags: [{ origin: "doctor", fields: { "fs.workspace.mode": "none", "net.egress": "off" } }],
  });
  const id = temporaryId();
  const spec = { id, hostname: id, policy, image: { kind: "host" } as const, projectDir: null, homeDir: null };
  const sandbox = await TemporarySandbox.start(openBackend(invocation), spec, signal);
  try {
    const exec = await sandbox.exec({ argv: ["true"], cwd: "/", env: { PATH: "/usr/bin:/bin" }, stdin: false });
    for (const stream of [1, 2] as const) exec.onOutput(stream, { write: (_, done) => done(), end: () => {} });
    const { code } = await exec.exited;
    if (code !== 0) throw new AgentKernelError("sandbox_start_failed", `true ended with status ${code}`);
    return { ms: performance.now() - startedAt };
  } finally {
    await sandbox.kill();
  }
}
