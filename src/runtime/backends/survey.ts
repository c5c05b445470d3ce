/** All backends that this version has beside linux, each proven anew; for `doctor`. */
import type { BackendName, Lack } from "../../core/backend.js";
import { anyBackend } from "../../core/backend-request.js";
import type { RuntimeHost } from "../open-backend.js";
import { type Candidate, candidateNames, candidateOf } from "./candidates.js";
import { chooseForKeeping } from "./choose.js";
import { inconclusiveAfter, type Proof } from "./proof.js";
import { proofOf } from "./proof-of.js";
import { forgetHardware } from "./seen-hardware.js";

interface Surveyed {
  readonly name: BackendName;
  readonly usable: boolean;
  readonly detail: string;
  readonly nextStep: string | null;
  /** What the contract asks for and this one honestly cannot do. */
  readonly lacks: readonly Lack[];
}

/** What a sandbox gets for which no backend is named, by what was proven last. */
export async function surveyAutomatic(
  host: RuntimeHost,
): Promise<{ readonly name: BackendName; readonly why: string }> {
  const { backend, why } = await chooseForKeeping({ ...host, resident: null }, anyBackend);
  return { name: backend.name, why };
}

/** One after the other: none shall slow another down. */
export async function surveyBackends(host: RuntimeHost, signal?: AbortSignal): Promise<readonly Surveyed[]> {
  const all: Surveyed[] = [];
  for (const name of candidateNames) {
    const candidate = await candidateOf(name);
    if (candidate === null || name === "linux") continue;
    const proof = await surveyed(host, name, candidate, signal);
    const { works, detail, nextStep } = proof;
    const { remark } = proof.facts;
    if (name === "microvm") forgetHardware(host, proof);
    all.push({
      name,
      usable: works,
      detail: remark === undefined ? detail : `${detail}; ${remark}`,
      nextStep,
      lacks: candidate.lacks,
    });
  }
  return all;
}

/** One that cannot be told of for the moment keeps nobody from the others. */
async function surveyed(
  host: RuntimeHost,
  name: BackendName,
  candidate: Candidate,
  signal?: AbortSignal,
): Promise<Proof> {
  try {
    return await proofOf(host, name, candidate, { isFresh: true, ...(signal ? { signal } : {}) });
  } catch (error) {
    signal?.throwIfAborted();
    return inconclusiveAfter(error);
  }
}
