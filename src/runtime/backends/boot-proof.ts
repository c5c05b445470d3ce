/** The proof that every backend has to give: a sandbox is booted, and a command run in it. */
import type { Backend, ImageSource } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import { resolve } from "../../policy/resolve.js";
import { TemporarySandbox, temporaryId } from "../temporary-sandbox.js";

/** Rejects with why it does not work. Gives up when the signal fires. */
export async function bootAndRun(
  backend: Backend,
  signal?: AbortSignal,
  argv: readonly string[] = ["true"],
  image: ImageSource = { kind: "host" },
): Promise<{ readonly ms: number }> {
  const startedAt = performance.now();
  const { policy } = resolve({
    flags: [{ origin: "doctor", fields: { "fs.workspace.mode": "none", "net.egress": "off" } }],
  });
  const id = temporaryId();
  const spec = { id, hostname: id, policy, image, projectDir: null, homeDir: null };
  const sandbox = await TemporarySandbox.start(backend, spec, signal);
  const giveUp = () => void sandbox.kill().catch(() => {});
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    const exec = await sandbox.exec({ argv, cwd: "/", env: { PATH: "/usr/bin:/bin" }, stdin: false });
    for (const stream of [1, 2] as const) exec.onOutput(stream, { write: (_, done) => done(), end: () => {} });
    const { code } = await exec.exited;
    if (code !== 0) throw new AgentKernelError("sandbox_start_failed", `${argv[0]} ended with status ${code}`);
    return { ms: performance.now() - startedAt };
  } catch (error) {
    throw await explained(sandbox, error, signal);
  } finally {
    signal?.removeEventListener("abort", giveUp);
    await sandbox.kill();
  }
}

/** What runs a sandbox may have said why it could not. */
async function explained(sandbox: TemporarySandbox, error: unknown, signal?: AbortSignal): Promise<unknown> {
  if (signal?.aborted) return new AgentKernelError("sandbox_start_failed", "no answer in time");
  const { said } = await sandbox.kill();
  return said === undefined ? error : new AgentKernelError("sandbox_start_failed", said, { cause: error });
}
