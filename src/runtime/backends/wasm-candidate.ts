/** WebAssembly: a module is compiled and called. It has calls and no sandboxes, so there is nothing to open. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { type WasmBackend, wasmLacks } from "../../backends/wasm/index.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { modulePolicy } from "../../policy/modules.js";
import { resolve } from "../../policy/resolve.js";
import { openWasm } from "../open-wasm.js";
import { temporaryId } from "../temporary-sandbox.js";
import { missingWorkerScript } from "../wasm-worker.js";
import type { Candidate } from "./candidates.js";
import { failing, working } from "./proof.js";

/** The smallest command of WASI: one page of memory, and a `_start` that does nothing. */
const NOTHING = Buffer.from(
  "0061736d01000000010401600000030201000503010001071302066d656d6f72790200065f737461727400000a040102000b",
  "hex",
);

export const wasmCandidate: Candidate = {
  lacks: wasmLacks,
  identity: () => (missingWorkerScript() === null ? "" : "not compiled"),

  async prove(host, signal) {
    if (process.platform !== "linux") return failing("needs Linux", null);
    const script = missingWorkerScript();
    if (script !== null) {
      return failing("its worker is not compiled in this checkout", `${script} wasm, or the first run --backend wasm`);
    }
    const wasm = openWasm({ ...host, resident: null });
    try {
      const startedAt = performance.now();
      await callNothing(wasm, signal);
      return working(`called a module in ${(performance.now() - startedAt).toFixed(0)} ms`);
    } catch (error) {
      const hint = isAgentKernelError(error) ? error.hint : undefined;
      return failing(error instanceof Error ? error.message : String(error), hint ?? null);
    } finally {
      await wasm.close();
    }
  },

  open() {
    throw new AgentKernelError("unsupported", "the backend wasm calls modules, and has no sandboxes for commands", {
      hint: "agentkernel run --backend wasm module.wasm; for a sandbox that stays use another backend",
    });
  },
};

async function callNothing(wasm: WasmBackend, signal?: AbortSignal): Promise<void> {
  const { policy } = resolve({
    flags: [{ origin: "doctor", fields: { "fs.workspace.mode": "none", "net.egress": "off" } }],
  });
  const id = temporaryId();
  const digest = createHash("sha256").update(NOTHING).digest("hex");
  const module = { kind: "bytes", bytes: NOTHING, name: "nothing" } as const;
  const spec = { id, hostname: id, policy: modulePolicy(policy), projectDir: null, module, digest, caller: "doctor" };
  const call = await wasm.open(spec, signal);
  const exec = await call.exec({ argv: ["nothing"], cwd: "/", env: {}, stdin: false });
  for (const stream of [1, 2] as const) exec.onOutput(stream, { write: (_, done) => done(), end: () => {} });
  const { code } = await exec.exited;
  await call.finish();
  if (code !== 0) throw new AgentKernelError("sandbox_start_failed", `the module ended with status ${code}`);
}
