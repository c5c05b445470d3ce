/** `setup --backend microvm`: programs and a kernel for virtual machines, and the proof that one starts. */
import { resolve } from "node:path";
import { AgentKernelError, errorTable } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import type { KernelSet } from "../../machine/index.js";
import { candidateOf } from "../../runtime/backends/candidates.js";
import type { Proof } from "../../runtime/backends/proof.js";
import { proofOf } from "../../runtime/backends/proof-of.js";
import {
  getKernel,
  kernelPlace,
  type MicrovmNeeds,
  machineFacts,
  microvmNeeds,
  runLine,
  takeKernel,
} from "../../setup/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";
import { isAgreed } from "./consent.js";

export async function setUpMicrovm({ flags, values }: ParsedOptions, invocation: Invocation): Promise<number> {
  const { env, homeDir, cwd } = invocation;
  const facts = machineFacts();
  const named = values.get("kernel")?.[0];
  const from = named === undefined ? null : resolve(cwd, named);
  const isJson = flags.has("json");
  const before = await microvmNeeds(env, homeDir, facts);
  if (!isJson) await writeOut(invocation, planText(before, { from, isRoot: facts.isRoot, place: placeOf(invocation) }));
  const isWanted = before.missing.length > 0 || lacksKernel(before) || from !== null;
  const isDone = isWanted && (await isPicked(flags, invocation));
  if (isDone) await install(before, facts.isRoot, invocation);
  const kernel = isDone ? await ensureKernel(before, from, invocation) : before.kernel;
  const { missing } = await microvmNeeds(env, homeDir, facts);
  const isReady = missing.length === 0 && kernel !== null;
  const proof = isReady && !flags.has("print") ? await prove(invocation) : null;
  if (isJson) {
    const data = {
      ok: proof?.works ?? false,
      missing: missing.map(({ name }) => name),
      kernel: kernel === null ? null : { name: kernel.name, folder: kernel.folder, digest: kernel.digest },
      proof: proof === null ? null : { works: proof.works, detail: proof.detail, next_step: proof.nextStep },
    };
    await writeJson(invocation, { success: true, data });
  } else {
    await writeOut(invocation, proofText(proof));
  }
  if (flags.has("print")) return 0;
  return proof?.works === true ? 0 : errorTable.backend_unavailable.exit;
}

function placeOf({ env, homeDir }: Invocation): string {
  return kernelPlace("debian", env, homeDir);
}

interface Plan {
  readonly from: string | null;
  readonly isRoot: boolean;
  readonly place: string;
}

function planText({ missing, install, kernel }: MicrovmNeeds, { from, isRoot, place }: Plan): string {
  const lines = missing.map(({ name, purpose }) => `${name}, which ${purpose}, is missing`);
  if (missing.length === 0) lines.push("QEMU, erofs-utils and e2fsprogs are there");
  else if (install !== null) lines.push(isRoot ? `  would run: ${install}` : `  as root run: ${install}`);
  else lines.push("  install them by your distribution's packages");
  if (kernel !== null)
    lines.push(`kernel ${kernel.name} is in ${kernel.folder}, with the digests that it was made with`);
  if (from !== null) lines.push(`the kernel in ${from} would be taken`);
  else if (lacksKernel({ kernel })) {
    lines.push(
      kernel === null
        ? "there is no kernel for machines"
        : "it has no driver for FUSE, so projects are copied into machines",

      `  Debian's linux-image-cloud-amd64 would be fetched by apt into ${place}`,
    );
  }
  return `${lines.map(escapeText).join("\n")}\n`;
}

async function isPicked(flags: ReadonlySet<string>, invocation: Invocation): Promise<boolean> {
  if (flags.has("print")) return false;
  if (flags.has("yes")) return true;
  return !flags.has("json") && (await isAgreed(invocation, "Do this?"));
}

async function install(
  { missing, install: line }: MicrovmNeeds,
  isRoot: boolean,
  invocation: Invocation,
): Promise<void> {
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name).join(" and ");
  if (line === null || !isRoot) {
    const hint = line === null ? "install them by your distribution's packages" : `as root run: ${line}`;
    throw new AgentKernelError("backend_unavailable", `${names}: missing, and cannot be installed from here`, { hint });
  }
  await writeErr(invocation, `agentkernel: runs ${line}\n`);
  const failure = await runLine(line);
  if (failure === null) return;
  throw new AgentKernelError("backend_unavailable", `${line}: ${failure}`, {
    hint: "see what it said above; the list of packages may be old: apt-get update",
  });
}

async function ensureKernel(
  { kernel }: MicrovmNeeds,
  from: string | null,
  { env, homeDir }: Invocation,
): Promise<KernelSet> {
  if (from !== null) return await takeKernel(from, env, homeDir);
  return kernel === null || lacksKernel({ kernel }) ? await getKernel(env, homeDir) : kernel;
}

/** One that has no FUSE works, and another is better. */
function lacksKernel({ kernel }: Pick<MicrovmNeeds, "kernel">): boolean {
  return kernel === null || !kernel.hasFuse;
}

async function prove(invocation: Invocation): Promise<Proof | null> {
  const candidate = await candidateOf("microvm");
  return candidate === null ? null : await proofOf(invocation, "microvm", candidate, { isFresh: true });
}

function proofText(proof: Proof | null): string {
  if (proof === null) return "nothing was started\n";
  const next = proof.nextStep === null ? "" : `  ${escapeText(proof.nextStep)}\n`;
  return `microvm: ${escapeText(proof.detail)}\n${proof.works ? "" : next}`;
}
