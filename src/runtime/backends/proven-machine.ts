/**
 * Virtual machines without being named: only where one has really run by hardware. That is found out by `doctor`, by
 * `setup --backend microvm`, and by who names the backend; a run takes what they found. It finds out by itself only when
 * something has changed that the proof depends on, once.
 */
import type { Backend } from "../../core/backend.js";
import { pooled, type RuntimeHost } from "../open-backend.js";
import type { Candidate } from "./candidates.js";
import { type Asked, whyNoMachine } from "./machine-fit.js";
import { failing, isByHardware, type Proof } from "./proof.js";
import { recallSame, remember } from "./proof-cache.js";
import { proofOf } from "./proof-of.js";

/** Hardware boots a machine in far less. */
const RENEWAL_MS = 20_000;

/** `isNews`: what was there before is not there any more. */
export type ProvenMachine =
  | { readonly backend: Backend; readonly detail: string }
  | { readonly backend: null; readonly why: string; readonly isNews: boolean };

/** To be asked where one has run by hardware before. */
export async function provenMachine(
  host: RuntimeHost,
  candidate: Candidate,
  asked: Asked | null,
  signal?: AbortSignal,
): Promise<ProvenMachine> {
  const identity = candidate.identity(host);
  const same = identity === null ? null : recallSame(host, "microvm", identity);
  const proof = same ?? (await renewed(host, candidate, identity, signal));
  if (!isByHardware(proof)) {
    return {
      backend: null,
      why: `virtual machines do not run by hardware here any more: ${proof.detail}`,
      isNews: true,
    };
  }
  const why = asked === null ? null : whyNoMachine(asked);
  if (why !== null) return { backend: null, why, isNews: false };
  return { backend: pooled(host, candidate.open(host, proof)), detail: proof.detail };
}

/** Whatever comes of it is remembered, so that the next run is not held up again. */
async function renewed(
  host: RuntimeHost,
  candidate: Candidate,
  identity: string | null,
  signal?: AbortSignal,
): Promise<Proof> {
  const options = { isFresh: true, patienceMs: RENEWAL_MS, ...(signal ? { signal } : {}) };
  const proof = await proofOf(host, "microvm", candidate, options).catch((error: unknown) => {
    signal?.throwIfAborted();
    return failing(error instanceof Error ? error.message : String(error), null);
  });
  remember(host, "microvm", identity ?? "", proof);
  return proof;
}
