/**
 * The one narrow interface that every backend implements: boot this spec, give me the byte stream, stop it,
 * tell me when it died. Everything else (exec, files, PTY, network) travels over the stream to the guest.
 */
import type { Socket } from "node:net";
import type { Policy } from "./policy.js";

export const backendNames = ["linux", "docker", "podman", "gvisor", "microvm", "wasm", "apple", "kubernetes"] as const;
export type BackendName = (typeof backendNames)[number];

export type ImageSource =
  | { readonly kind: "host" }
  /** Folders of unpacked layers, absolute, the uppermost first. */
  | { readonly kind: "layers"; readonly layers: readonly string[] };

export interface BootSpec {
  readonly id: string;
  readonly hostname: string;
  readonly policy: Policy;
  readonly image: ImageSource;
  /** The folder shown as /workspace, absolute; null where the workspace mode is `none`. */
  readonly projectDir: string | null;
  /** The user's home folder, absolute, for policies that show it. */
  readonly homeDir: string | null;
  /** PEM of a certificate that programs in the sandbox are to trust, at `trustPaths`. */
  readonly trustedCertificate?: string;
}

/** Where a trusted certificate lies inside: alone, and with what the root trusts besides. */
export const trustPaths = { own: "/etc/agentkernel/ca.pem", bundle: "/etc/agentkernel/ca-bundle.pem" } as const;

/** One wall of the sandbox and whether it stands. `partial` and `absent` say what is missing in `detail`. */
export interface Layer {
  readonly name: string;
  readonly state: "applied" | "partial" | "absent";
  readonly detail?: string;
}

/** What carrying the sandbox's changes into the project did (`sync`). Paths are relative to the project. */
export interface CarryReport {
  readonly written: readonly string[];
  readonly deleted: readonly string[];
  /** Changed on the host meanwhile: left as the host has them. */
  readonly conflicts: readonly string[];
  /** Hidden, protected, or not a file, folder or link. */
  readonly refused: readonly string[];
  /** How many paths of each list were cut from this report. */
  readonly omitted: number;
}

export interface SandboxEnd {
  /** Why process 1 ended: its own exit, or by a signal. */
  readonly code: number | null;
  readonly signal: number | null;
  readonly oomKills: number;
  readonly pidsDenied: number;
  readonly memoryPeakBytes: number | null;
  readonly cpuUs: number | null;
  readonly carried: CarryReport | null;
}

export interface BootedSandbox {
  /** The byte stream to the guest. */
  readonly stream: Socket;
  readonly layers: readonly Layer[];
  /** Settles when the sandbox is gone, whoever ended it, and nothing of it is left. */
  readonly ended: Promise<SandboxEnd>;
  /** Ends it: kills every process, carries changes over where the policy says so, removes all traces. Idempotent. */
  finish(): Promise<SandboxEnd>;
  /** Ends it without carrying anything over. Idempotent. */
  kill(): Promise<SandboxEnd>;
}

/** Something the contract suite asks for that this backend honestly cannot do. */
export interface Lack {
  readonly capability: string;
  readonly reason: string;
}

export interface Backend {
  readonly name: BackendName;
  readonly lacks: readonly Lack[];
  /** Rejects with an AgentKernelError and leaves nothing behind if the sandbox could not be started. */
  boot(spec: BootSpec, signal?: AbortSignal): Promise<BootedSandbox>;
}
