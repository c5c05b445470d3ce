/** The interface of a sandbox that a run uses. */
import type { Duplex } from "node:stream";
import type { BackendName, Layer, LimitCounts, SandboxEnd, UsedSoFar } from "../core/backend.js";
import type { ExecRequest } from "../core/exec.js";
import type { Callee, GuestExec, GuestFiles } from "../guest/index.js";

export interface RunSandbox {
  readonly id: string;
  readonly backend: BackendName;
  /** The command that it was started with; null where there was none. */
  readonly first: Promise<GuestExec> | null;
  readonly layers: readonly Layer[];
  /** It was built before it was asked for. */
  readonly isWarm: boolean;
  /** Settles when nothing of it is left, whoever ended it. */
  readonly ended: Promise<SandboxEnd>;
  /** Settles when `finish` is under way, at the latest with its end: what it used. Null where that is not known. */
  readonly ending: Promise<UsedSoFar | null>;
  readonly files: GuestFiles;
  /** Counts limits that were hit so far; null where only its end can tell. */
  limitsHit(): LimitCounts | null;
  exec(request: ExecRequest, callee?: Callee): Promise<GuestExec>;
  makeFolder(path: string): Promise<void>;
  connectTcp(port: number): Promise<Duplex>;
  /** Ends everything in it; carries changes over where the policy says so. */
  finish(): Promise<SandboxEnd>;
  /** Ends everything in it and carries nothing over. */
  kill(): Promise<SandboxEnd>;
}
