/**
 * Virtual machines without being named: only where one has really run by hardware. That is found out by `doctor`, by
 * `setup --backend microvm`, and by who names the backend; a run takes what they found. It finds out by itself only when
 * something has changed that the proof depends on, or when what was found last was a failure, a while ago.
 */
import type { Backend } from "../../core/backend.js";
import { pooled, type RuntimeHost } from "../open-backend.js";
import type { Candidate } from "./candidates.js";
import { type MachineRequest, whyNoMachine } from "./machine-fit.js";
import { inconclusiveAfter, isByHardware, type Proof } from "./proof.js";
import { recallMachine } from "./proof-cache.js";
import { proofOf } from "./proof-of.js";

/** Hardware boots a machine in far less. */
const RENEWAL_MS = 20_000;

/** `isNews`: what was there before is not there any more, as far as could be told. */
type ProvenMachine =
  | { readonly backend: Backend; readonly detail: string }
  | { readonly backend: null; readonly why: string; readonly isNews: boolean };

/** To be asked where one has run by hardware before. */
export async function provenMachine(
  host: RuntimeHost,
  candidate: Candidate,
  asked: MachineRequest | null,
  signal?: AbortSignal,
): Promise<ProvenMachine> {
  const proof = await currentProof(host, candidate, signal);
  if (!isByHardware(proof)) return { backend: null, why: whyNotAnyMore(proof), isNews: true };
  const why = asked === null ? null : whyNoMachine(asked);
  if (why !== null) return { backend: null, why, isNews: false };
  return { backend: pooled(host, candidate.open(host, proof)), detail: proof.detail };
}

/** What was shown is remembered; where nothing could be, the next run looks again. */
async function currentProof(host: RuntimeHost, candidate: Candidate, signal?: AbortSignal): Promise<Proof> {
  try {
    const identity = candidate.identity(host);
    const known = identity === null ? null : recallMachine(host, identity);
    if (known !== null) return known;
    const options = { isFresh: true, patienceMs: RENEWAL_MS, ...(signal ? { signal } : {}) };
    return await proofOf(host, "microvm", candidate, options);
  } catch (error) {
    signal?.throwIfAborted();
    return inconclusiveAfter(error);
  }
}

function whyNotAnyMore({ works, detail, facts: { accelerator, kind }, isInconclusive }: Proof): string {
  if (isInconclusive === true)
    return `whether hardware still runs one could not be told, and is tried again: ${detail}`;
  if (works && accelerator === "kvm") return `those of ${kind} are only for those who name the backend microvm`;
  return `virtual machines do not run by hardware here any more: ${detail}`;
}
