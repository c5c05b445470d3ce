/** Which backend a sandbox gets: the one that is named, or else the first of the automatic order that is proven. */
import type { Backend, BackendName } from "../../core/backend.js";
import type { BackendWish } from "../../core/backend-wish.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { openBackend, pooled, type RuntimeHost } from "../open-backend.js";
import { automaticOrder, type Candidate, candidateOf } from "./candidates.js";
import { failing, type Proof } from "./proof.js";
import { recall, remember } from "./proof-cache.js";

export async function chooseBackend(host: RuntimeHost, { name }: BackendWish, signal?: AbortSignal): Promise<Backend> {
  if (name === "linux") return openBackend(host);
  if (name !== "auto") return await openNamed(host, name, signal);
  // Where namespaces are known not to work, whatever else there is comes first; else using them is the proof.
  if (process.platform === "linux" && recall(host, "linux", "")?.works !== false) return openBackend(host);
  return (await firstProven(host, signal)) ?? openBackend(host);
}

/** For a sandbox that stays, and may first be started long after it was made: so nothing but proofs decides. */
export async function chooseForKeeping(host: RuntimeHost, wish: BackendWish): Promise<Backend> {
  if (wish.name !== "auto") return await chooseBackend(host, wish);
  return (await firstProven(host)) ?? openBackend(host);
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

/** After `backend` could not be used at all: another one, where any was to be had. Null: its error stands. */
export async function chooseAnother(
  host: RuntimeHost,
  wish: BackendWish,
  backend: Backend,
  error: unknown,
): Promise<Backend | null> {
  if (wish.name !== "auto" || backend.name !== "linux") return null;
  if (!isAgentKernelError(error)) return null;
  if (imageFailures.has(error.code)) return (await worksHere(host)) ? null : await firstProven(host);
  if (error.code !== "backend_unavailable") return null;
  remember(host, "linux", "", failing(error.message, error.hint ?? null));
  return await firstProven(host);
}

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
  try {
    const proof = await candidate.prove(host, signal === undefined ? deadline : AbortSignal.any([signal, deadline]));
    if (identity !== null) remember(host, name, identity, proof);
    return proof;
  } catch (error) {
    signal?.throwIfAborted();
    if (!deadline.aborted) throw error;
    // Not remembered: the machine may have had no time for it.
    const detail = `a sandbox to prove it was not up within ${patienceMs / 1000} s`;
    return failing(detail, "the machine may be busy: try again, or see `agentkernel doctor`");
  }
}

async function firstProven(host: RuntimeHost, signal?: AbortSignal): Promise<Backend | null> {
  for (const name of automaticOrder(process.platform)) {
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
      hint: "use --backend linux, or leave it out",
    });
  }
  const proof = await proofOf(host, name, candidate, signal ? { signal } : {});
  if (proof.works) return pooled(host, candidate.open(host, proof));
  throw new AgentKernelError("backend_unavailable", `the backend ${name} does not work here: ${proof.detail}`, {
    hint: proof.nextStep ?? "see `agentkernel doctor`, or leave --backend out",
  });
}
