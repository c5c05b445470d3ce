/** Which backend a sandbox gets: the one that is named, or else the first of the automatic order that is proven. */
import type { Backend, BackendName } from "../../core/backend.js";
import type { BackendRequest } from "../../core/backend-request.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { openBackend, pooled, type RuntimeHost } from "../open-backend.js";
import { automaticOrder, candidateOf } from "./candidates.js";
import type { Choice } from "./choice.js";
import type { MachineRequest } from "./machine-fit.js";
import { failing } from "./proof.js";
import { recall, remember } from "./proof-cache.js";
import { proofOf } from "./proof-of.js";
import { hasSeenHardware } from "./seen-hardware.js";

/** What is to run in it, as far as that decides. */
interface Wanted extends MachineRequest {
  readonly backend: BackendRequest;
}

const NO_NOTES: readonly string[] = [];
const NO_HARDWARE = "auto: no virtual machine was seen to run by hardware here (agentkernel doctor)";

export async function chooseBackend(host: RuntimeHost, wanted: Wanted, signal?: AbortSignal): Promise<Choice> {
  const { name, origin } = wanted.backend;
  if (name === "linux") return { backend: openBackend(host), why: origin, notes: NO_NOTES };
  if (name !== "auto") return { backend: await openNamed(host, name, signal), why: origin, notes: NO_NOTES };
  return await automatic(host, wanted, (why, notes) => usual(host, why, notes, signal), signal);
}

/** For a sandbox that stays, and may first be started long after it was made: so nothing but proofs decides. */
export async function chooseForKeeping(
  host: RuntimeHost,
  request: BackendRequest,
  asked: MachineRequest | null = null,
  signal?: AbortSignal,
): Promise<Choice> {
  const { name, origin } = request;
  if (name === "linux") return { backend: openBackend(host), why: origin, notes: NO_NOTES };
  if (name !== "auto") return { backend: await openNamed(host, name, signal), why: origin, notes: NO_NOTES };
  const proven = async (why: string, notes: readonly string[]): Promise<Choice> => ({
    backend: (await firstProven(host, signal)) ?? openBackend(host),
    why,
    notes,
  });
  return await automatic(host, asked, proven, signal);
}

type Others = (why: string, notes: readonly string[]) => Promise<Choice>;

/** A virtual machine where hardware runs them and one can do what is asked for, else what `others` find. */
async function automatic(
  host: RuntimeHost,
  asked: MachineRequest | null,
  others: Others,
  signal?: AbortSignal,
): Promise<Choice> {
  if (!hasSeenHardware(host)) return await others(NO_HARDWARE, NO_NOTES);
  const [candidate, { provenMachine }] = await Promise.all([candidateOf("microvm"), import("./proven-machine.js")]);
  if (candidate === null) return await others(NO_HARDWARE, NO_NOTES);
  const machine = await provenMachine(host, candidate, asked, signal);
  const otherwise = (why: string) => others(`auto: no virtual machine, since ${why}`, [notAMachine(why)]);
  if (machine.backend !== null) {
    return { backend: machine.backend, why: `auto: ${machine.detail}`, notes: NO_NOTES, otherwise };
  }
  return machine.isNews
    ? await others(`auto: ${machine.why}`, [`not in a virtual machine: ${machine.why}`])
    : await otherwise(machine.why);
}

function notAMachine(why: string): string {
  return `not in a virtual machine, though hardware would run one: ${why}`;
}

/** Where namespaces are known not to work, whatever else there is comes first; else using them is the proof. */
async function usual(host: RuntimeHost, why: string, notes: readonly string[], signal?: AbortSignal): Promise<Choice> {
  if (process.platform === "linux" && recall(host, "linux", "")?.works !== false) {
    return { backend: openBackend(host), why, notes };
  }
  return { backend: (await firstProven(host, signal)) ?? openBackend(host), why, notes };
}

/** An image that our own store cannot have may be one that an engine has, where namespaces do not work anyway. */
const imageFailures: ReadonlySet<string> = new Set(["image_unavailable", "image_not_found", "image_invalid"]);

async function worksHere(host: RuntimeHost): Promise<boolean> {
  const linux = await candidateOf("linux");
  if (linux === null) return true;
  // Where it cannot be told for the moment, the image's own error is the one to show.
  return await proofOf(host, "linux", linux).then(
    ({ works }) => works,
    () => true,
  );
}

/**
 * After a backend could not be used at all: another one, where any was to be had. Null: its error stands. A machine that
 * did not come up is no reason for a weaker wall, since what is in an image may be why; that its monitor is gone is one.
 */
export async function chooseAnother(
  host: RuntimeHost,
  request: BackendRequest,
  { backend, notes, otherwise }: Choice,
  error: unknown,
): Promise<Choice | null> {
  if (request.name !== "auto" || !isAgentKernelError(error)) return null;
  if (otherwise !== undefined) return error.code === "backend_unavailable" ? await otherwise(error.message) : null;
  if (backend.name !== "linux") return null;
  if (imageFailures.has(error.code))
    return (await worksHere(host)) ? null : await nextProven(host, error.message, notes);
  if (error.code !== "backend_unavailable") return null;
  remember(host, "linux", "", failing(error.message, error.hint ?? null));
  return await nextProven(host, error.message, notes);
}

/** After linux, which is not tried a second time, also where nothing could be remembered of the first. */
async function nextProven(host: RuntimeHost, reason: string, notes: readonly string[]): Promise<Choice | null> {
  const backend = await firstProven(host, undefined, afterMachines.slice(afterMachines.indexOf("linux") + 1));
  return backend && { backend, why: `auto: linux does not work here: ${reason}`, notes };
}

const afterMachines = automaticOrder(process.platform).filter((name) => name !== "microvm");

/** Of all but virtual machines. */
async function firstProven(host: RuntimeHost, signal?: AbortSignal, names = afterMachines): Promise<Backend | null> {
  for (const name of names) {
    const candidate = await candidateOf(name);
    if (candidate === null) continue;
    const proof = await proofOf(host, name, candidate, signal ? { signal } : {});
    if (proof.works) return pooled(host, candidate.open(host, proof));
  }
  return null;
}

async function openNamed(host: RuntimeHost, name: BackendName, signal?: AbortSignal): Promise<Backend> {
  const candidate = await candidateOf(name);
  if (candidate === null) {
    throw new AgentKernelError("backend_unavailable", `the backend ${name} is not in this version`, {
      hint: (wording) => `use ${wording.with("backend", "linux")}, or leave it out`,
    });
  }
  const proof = await proofOf(host, name, candidate, signal ? { signal } : {});
  if (proof.works) return pooled(host, candidate.open(host, proof));
  throw new AgentKernelError("backend_unavailable", `the backend ${name} does not work here: ${proof.detail}`, {
    hint: proof.nextStep ?? (({ name: spelt }) => `see \`agentkernel doctor\`, or leave ${spelt("backend")} out`),
  });
}
