/** Which of what a machine shows is copied into it, and what it asks for as it is touched. Pure. */
import type { Layer } from "../../core/backend.js";
import type { CopiedView } from "../entry/views.js";
import type { KernelFiles } from "./machine-files.js";

interface ShownParts {
  /** The guest waits inside its walls: the machine's first program puts the project in place. */
  readonly isInside: boolean;
  /** What changes in it is told, from a listing of all of it. */
  readonly tracked: CopiedView | null;
}

interface Shown {
  readonly lazy: CopiedView | null;
  readonly copied: readonly CopiedView[];
  readonly layers: readonly Layer[];
}

const PROJECT = "/workspace";

export function howShown(
  views: readonly CopiedView[],
  { kernel }: { readonly kernel: Pick<KernelFiles, "hasFuse"> },
  { isInside, tracked }: ShownParts,
): Shown {
  const project = views.find(({ target }) => target === PROJECT) ?? null;
  if (project === null || !isInside || tracked !== null) return { lazy: null, copied: views, layers: [] };
  if (!kernel.hasFuse) return { lazy: null, copied: views, layers: [NO_FUSE] };
  return { lazy: project, copied: views.filter((view) => view !== project), layers: [] };
}

const NO_FUSE: Layer = {
  name: "project view",
  state: "partial",
  detail:
    "this kernel has no driver for FUSE, so the whole project was copied into the machine; `agentkernel setup --backend microvm` fetches one that has it",
};
