/**
 * Virtual machines. Which accelerator there is, is found out by running a guest: a device file alone proves nothing.
 * Emulated in software it is no boundary, and only for those who name it; on hardware nobody has tried it yet.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { microvmLacks } from "../../backends/microvm/index.js";
import { kvmMark } from "../../backends/microvm/kvm-mark.js";
import {
  type Accelerator,
  firecrackerPath,
  type MonitorKind,
  type MonitorProgram,
  programMark,
  qemuPath,
} from "../../backends/microvm/monitor.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { nativeBinary } from "../../core/native-binary.js";
import { emptyRoot, kernelRefusal, machineFilesMark } from "../machine-files.js";
import { openMicrovm } from "../open-microvm.js";
import { bootAndRun } from "./boot-proof.js";
import type { Candidate } from "./candidates.js";
import { failing, type Proof, working } from "./proof.js";
import { isOfTheMoment } from "./shortage.js";

const INSTALL = "`agentkernel setup --backend microvm` says what is missing and gets it";
const PROBE_MS = 10_000;
const accelerators: readonly Accelerator[] = ["kvm", "tcg"];
const hardwareOnly: readonly Accelerator[] = ["kvm"];
const softwareOnly: readonly Accelerator[] = ["tcg"];
/** A command that every machine has. */
const NOTHING = ["/.agentkernel/ak-entry", "true"];
const EMULATED = "by software emulation, which is no security boundary";
const ACCELERATED = "by KVM (unverified: it has not run on hardware yet)";
/** `AGENTKERNEL_VMM` names another monitor than QEMU. */
const VARIABLE = "AGENTKERNEL_VMM";
const KNOWN: readonly MonitorKind[] = ["qemu", "firecracker"];
const UNVERIFIED = "unverified beyond this machine: tested against a double of it only";

export const microvmCandidate: Candidate = {
  lacks: microvmLacks,

  identity(host) {
    const kind = wantedKind(host.env);
    const program = kind === null ? null : programOf(kind, host.env);
    const files = machineFilesMark(host);
    return program === null || files === null ? null : [kind, programMark(program), files, kvmMark()].join("\n");
  },

  async prove(host, signal) {
    if (process.platform !== "linux" || process.arch !== "x64") return failing("needs Linux on x86-64", null);
    const kind = wantedKind(host.env);
    if (kind === null) return failing(`${VARIABLE} must be ${KNOWN.join(" or ")}`, `set it, or unset ${VARIABLE}`);
    const program = programOf(kind, host.env);
    if (program === null) return failing(`there is no ${fileNames[kind]}`, installs[kind]);
    const refusal = kernelRefusal(host);
    if (refusal !== null) return failing(refusal.message, refusal.hint ?? INSTALL);
    const kvm = await kvmProof();
    if (kind === "firecracker" && !kvm.works) {
      return failing(`Firecracker needs KVM, which runs no machine here: ${kvm.detail}`, `unset ${VARIABLE}`);
    }
    const usable = kvm.works ? (kind === "qemu" ? accelerators : hardwareOnly) : softwareOnly;
    const refused: string[] = [];
    for (const accelerator of usable) {
      try {
        const backend = openMicrovm({ ...host, resident: null }, { kind, program, accelerator });
        const { ms } = await bootAndRun(backend, signal, NOTHING, emptyRoot(host));
        const how = accelerator === "kvm" ? ACCELERATED : `${EMULATED} (KVM: ${kvm.detail})`;
        const whose = kind === "qemu" ? "QEMU" : `Firecracker (${UNVERIFIED})`;
        return working(`${whose} ${how}; booted a machine in ${ms.toFixed(0)} ms`, { kind, program, accelerator });
      } catch (error) {
        signal?.throwIfAborted();
        if (isOfTheMoment(error)) throw error;
        const hint = isAgentKernelError(error) && error.hint !== undefined ? ` (${error.hint})` : "";
        refused.push(`${accelerator}: ${error instanceof Error ? error.message : String(error)}${hint}`);
      }
    }
    return failing(`${fileNames[kind]} runs no machine here: ${refused.join("; ")}`, INSTALL);
  },

  open: (host, { facts }) => openMicrovm(host, choiceOf(facts)),
};

const installs: Readonly<Record<MonitorKind, string>> = {
  qemu: INSTALL,
  firecracker: `install Firecracker 1.7 or later, or unset ${VARIABLE}`,
};
const fileNames: Readonly<Record<MonitorKind, string>> = { qemu: "qemu-system-x86_64", firecracker: "firecracker" };

type Environment = Readonly<Record<string, string | undefined>>;

/** Null where nobody knows it. */
function wantedKind(env: Environment): MonitorKind | null {
  const wanted = env[VARIABLE] ?? "";
  return wanted === "" ? "qemu" : (KNOWN.find((kind) => kind === wanted) ?? null);
}

function programOf(kind: MonitorKind, env: Environment): string | null {
  return kind === "qemu" ? qemuPath(env) : firecrackerPath(env);
}

/** The probe runs instructions of its own on it, against a clock: a device file alone proves nothing. */
async function kvmProof(): Promise<{ readonly works: boolean; readonly detail: string }> {
  const options = { timeout: PROBE_MS, maxBuffer: 64 << 10, env: {} };
  try {
    const { stdout } = await promisify(execFile)(nativeBinary("ak-probe"), ["kvm"], options);
    const { ok, detail } = JSON.parse(stdout) as Readonly<Record<string, unknown>>;
    return { works: ok === true, detail: String(detail) };
  } catch (error) {
    if (isOfTheMoment(error)) throw error;
    // What could not be asked is not proven.
    return { works: false, detail: `not proven: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function choiceOf({ kind, program, accelerator }: Proof["facts"]): MonitorProgram {
  const known = KNOWN.find((each) => each === kind);
  if (known === undefined || program === undefined || (accelerator !== "kvm" && accelerator !== "tcg")) {
    throw new AgentKernelError("internal", "a proof of microvm without its facts");
  }
  return { kind: known, program, accelerator };
}
