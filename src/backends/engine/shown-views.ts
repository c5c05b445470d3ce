/**
 * What a container is shown without a copy, and what is copied into it. Copying takes as long as the project is large, so
 * it is left for what has to be told from the host's later, and for machines where a container's first program cannot
 * arrange mounts: those are remembered for a while.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { BootSpec, Layer } from "../../core/backend.js";
import { type AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { writeJson } from "../entry/state-file.js";
import { allViews, copiedViews, isLive, liveViews, type ShownViews } from "../entry/views.js";

const FILE = "copied.json";
const BELIEVED_MS = 24 * 60 * 60 * 1000;

interface Refusal {
  readonly why: string;
  readonly atMs: number;
}

export class ShowingViews {
  readonly #folder: string;
  readonly #refusals: Map<string, Refusal>;

  constructor(folder: string) {
    this.#folder = folder;
    this.#refusals = read(folder);
  }

  of(boot: BootSpec, isKept: boolean): ShownViews {
    const isShown = !isKept && isCopyOnWrite(boot) && this.refusal(boot) === null;
    return isShown ? { copied: [], live: allViews(boot) } : copiedAsFarAsPossible(boot);
  }

  /** Why its project is copied although it need not be. */
  refusal(boot: BootSpec): string | null {
    const found = isCopyOnWrite(boot) ? this.#refusals.get(fileSystemOf(boot)) : undefined;
    return found !== undefined && Date.now() - found.atMs < BELIEVED_MS ? found.why : null;
  }

  refuse(boot: BootSpec, error: AgentKernelError): void {
    this.#refusals.set(fileSystemOf(boot), { why: error.message, atMs: Date.now() });
    writeJson(this.#folder, FILE, Object.fromEntries(this.#refusals));
  }
}

export function copiedAsFarAsPossible(boot: BootSpec): ShownViews {
  return { copied: copiedViews(boot), live: liveViews(boot) };
}

export function hasLive({ live }: ShownViews): boolean {
  return live.some(isLive);
}

/** Of what was to be copy-on-write, where a copy may do. */
export function isRefusal(views: ShownViews, error: unknown): error is AgentKernelError {
  const isArranged = views.live.some(({ form, readonly }) => form === "copy" && !readonly);
  if (!isArranged || !isAgentKernelError(error)) return false;
  return ["unsupported", "layer_unavailable", "sandbox_start_failed"].includes(error.code);
}

export function copiedLayer(why: string): Layer {
  return { name: "copy-on-write", state: "partial", detail: `the project was copied into the sandbox: ${why}` };
}

/**
 * What is carried over is told from what was copied. A file has no mount point in a root that cannot be written. What is
 * another user's is copied with the caller's rights.
 */
function isCopyOnWrite({ policy: { fs }, projectDir }: BootSpec): boolean {
  if (projectDir === null || fs.workspace.mode !== "copy") return false;
  if (fs.rootReadonly && fs.mounts.some(({ host }) => statOf(host)?.isFile() === true)) return false;
  const caller = process.geteuid?.() ?? 0;
  return process.platform === "linux" && (caller === 0 || statOf(projectDir)?.uid === caller);
}

function fileSystemOf({ projectDir }: BootSpec): string {
  return String(statOf(projectDir ?? "/")?.dev ?? "none");
}

function statOf(path: string) {
  return statSync(path, { throwIfNoEntry: false });
}

/** It is only about what is quicker: what cannot be read is not known. */
function read(folder: string): Map<string, Refusal> {
  try {
    const known: unknown = JSON.parse(readFileSync(join(folder, FILE), "utf8"));
    const all = typeof known === "object" && known !== null ? Object.entries(known) : [];
    return new Map(
      all.filter((one): one is [string, Refusal] => typeof Reflect.get(Object(one[1]), "why") === "string"),
    );
  } catch {
    return new Map();
  }
}
