/** The proof of a backend: remembered, or made now. */
import type { BackendName } from "../../core/backend.js";
import type { RuntimeHost } from "../open-backend.js";
import type { Candidate } from "./candidates.js";
import { inconclusive, type Proof } from "./proof.js";
import { recall, remember } from "./proof-cache.js";

/** An engine that is not heard of for so long is none to build on. */
const PROOF_MS = 60_000;

interface ProofOptions {
  readonly isFresh?: boolean;
  readonly signal?: AbortSignal;
  readonly patienceMs?: number;
}

/** Proven now, or lately. */
export async function proofOf(
  host: RuntimeHost,
  name: BackendName,
  candidate: Candidate,
  { isFresh = false, signal, patienceMs = PROOF_MS }: ProofOptions = {},
): Promise<Proof> {
  const identity = candidate.identity(host);
  const known = isFresh || identity === null ? null : recall(host, name, identity);
  if (known !== null) return known;
  const deadline = AbortSignal.timeout(patienceMs);
  const ending = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
  try {
    const proof = await candidate.prove(host, ending);
    // A caller whose time was up says nothing about the backend.
    ending.throwIfAborted();
    if (identity !== null) remember(host, name, identity, proof);
    return proof;
  } catch (error) {
    signal?.throwIfAborted();
    if (!deadline.aborted) throw error;
    // Not remembered: the machine may have had no time for it.
    const detail = `a sandbox to prove it was not up within ${patienceMs / 1000} s`;
    return inconclusive(detail, "the machine may be busy: try again, or see `agentkernel doctor`");
  }
}
