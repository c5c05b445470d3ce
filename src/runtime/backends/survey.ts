/** All backends that this version has beside linux, each proven anew; for `doctor`. */
import type { BackendName, Lack } from "../../core/backend.js";
import type { RuntimeHost } from "../open-backend.js";
import { candidateNames, candidateOf } from "./candidates.js";
import { proofOf } from "./choose.js";

export interface Surveyed {
  readonly name: BackendName;
  readonly usable: boolean;
  readonly detail: string;
  readonly nextStep: string | null;
  /** What the contract asks for and this one honestly cannot do. */
  readonly lacks: readonly Lack[];
}

/** One after the other: none shall slow another down. */
export async function surveyBackends(host: RuntimeHost, signal?: AbortSignal): Promise<readonly Surveyed[]> {
  const all: Surveyed[] = [];
  for (const name of candidateNames) {
    const candidate = await candidateOf(name);
    if (candidate === null || name === "linux") continue;
    const { works, detail, nextStep, facts } = await proofOf(host, name, candidate, {
      isFresh: true,
      ...(signal ? { signal } : {}),
    });
    const { remark } = facts;
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
