/**
 * Virtual machines. Which accelerator there is, is found out by running a guest: a device file alone proves nothing.
 * Software emulation is only for those who name the backend, since it is no boundary.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { microvmLacks } from "../../backends/microvm/index.js";
import { type Accelerator, programMark, qemuPath } from "../../backends/microvm/monitor.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { nativeBinary } from "../../core/native-binary.js";
import { emptyRoot, machineFilesMark } from "../machine-files.js";
import { openMicrovm } from "../open-microvm.js";
import { bootAndRun } from "./boot-proof.js";
import type { Candidate } from "./candidates.js";
import { failing, type Proof, working } from "./proof.js";

const INSTALL = "`agentkernel setup --backend microvm` says what is missing and gets it";
const PROBE_MS = 10_000;
const accelerators: readonly Accelerator[] = ["kvm", "tcg"];
const softwareOnly: readonly Accelerator[] = ["tcg"];
/** A command that every machine has. */
const NOTHING = ["/.agentkernel/ak-entry", "true"];
const EMULATED = "by software emulation, which is no security boundary: only where it is named";

export const microvmCandidate: Candidate = {
  lacks: microvmLacks,

  identity(host) {
    const program = qemuPath(host.env);
    const files = machineFilesMark(host);
    return program === null || files === null ? null : [programMark(program), files].join("\n");
  },

  async prove(host, signal) {
    if (process.platform !== "linux" || process.arch !== "x64") return failing("needs Linux on x86-64", null);
    const program = qemuPath(host.env);
    if (program === null) return failing("there is no qemu-system-x86_64", INSTALL);
    if (machineFilesMark(host) === null) return failing("there is no kernel for machines", INSTALL);
    const refused: string[] = [];
    const kvm = await kvmProof();
    for (const accelerator of kvm.works ? accelerators : softwareOnly) {
      try {
        const backend = openMicrovm({ ...host, resident: null }, { program, accelerator });
        const { ms } = await bootAndRun(backend, signal, NOTHING, emptyRoot(host));
        const how = accelerator === "kvm" ? "by KVM" : `${EMULATED} (KVM: ${kvm.detail})`;
        return working(`QEMU ${how}; booted a machine in ${ms.toFixed(0)} ms`, { program, accelerator });
      } catch (error) {
        signal?.throwIfAborted();
        const hint = isAgentKernelError(error) && error.hint !== undefined ? ` (${error.hint})` : "";
        refused.push(`${accelerator}: ${error instanceof Error ? error.message : String(error)}${hint}`);
      }
    }
    return failing(`QEMU runs no machine here: ${refused.join("; ")}`, INSTALL);
  },

  isAutomatic: ({ facts }) => facts.accelerator === "kvm",

  open: (host, { facts }) => openMicrovm(host, choiceOf(facts)),
};

/** The probe runs instructions of its own on it, against a clock: a device file alone proves nothing. */
async function kvmProof(): Promise<{ readonly works: boolean; readonly detail: string }> {
  const options = { timeout: PROBE_MS, maxBuffer: 64 << 10, env: {} };
  try {
    const { stdout } = await promisify(execFile)(nativeBinary("ak-probe"), ["kvm"], options);
    const { ok, detail } = JSON.parse(stdout) as Readonly<Record<string, unknown>>;
    return { works: ok === true, detail: String(detail) };
  } catch (error) {
    // What could not be asked is not proven.
    return { works: false, detail: `not proven: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function choiceOf({ program, accelerator }: Proof["facts"]): { program: string; accelerator: Accelerator } {
  if (program === undefined || (accelerator !== "kvm" && accelerator !== "tcg")) {
    throw new AgentKernelError("internal", "a proof of microvm without its facts");
  }
  return { program, accelerator };
}
