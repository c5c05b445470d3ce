/** What `doctor` found, as plain values. */
import type { BackendName, Lack } from "../core/backend.js";

/** The layers that `ak-probe` proves, in the order in which they are shown. */
export const layerNames = [
  "userns",
  "subids",
  "mountns-proc",
  "overlay",
  "idmap",
  "netns",
  "redirect",
  "seccomp",
  "landlock",
  "cgroup",
  "kvm",
] as const;
export type LayerName = (typeof layerNames)[number];

/** `not-needed`: does not work here, and nothing is lost by that. */
export type CheckState = "works" | "fails" | "not-needed";

export interface Check {
  readonly name: LayerName | "guest";
  readonly state: CheckState;
  readonly detail: string;
  /** What to do about a check that fails. */
  readonly nextStep: string | null;
  readonly ms: number | null;
}

export interface Weakness {
  readonly layer: LayerName;
  readonly consequence: string;
}

export interface BackendReport {
  readonly name: BackendName;
  readonly usable: boolean;
  readonly detail: string;
  /** Checks without which this backend cannot work. */
  readonly missing: readonly Check["name"][];
  /** Layers without which it works, but guards less. */
  readonly weaker: readonly Weakness[];
  /** What to do where it is not usable; absent where the layers say it. */
  readonly nextStep?: string | null;
  /** What it cannot do whatever the machine is like. */
  readonly lacks?: readonly Lack[];
}

export interface DoctorReport {
  /** At least one backend can run sandboxes. */
  readonly ok: boolean;
  readonly checks: readonly Check[];
  readonly backends: readonly BackendReport[];
  /** The one that a sandbox gets for which none is named; null where that was not asked. */
  readonly automatic: { readonly name: BackendName; readonly why: string } | null;
}
