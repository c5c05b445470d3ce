/** Events of persistent sandboxes. */
interface About {
  readonly atMs: number;
  readonly sandbox: string;
  readonly id: string;
  /** Listeners that speak for one client pass on only its own. */
  readonly owner: string | null;
}

/** Why it does not run any more. */
export type StopReason = "stopped" | "killed" | "idle" | "died" | "lost";

export type SandboxEventDetails =
  | { readonly type: "created" | "started" | "adopted" | "paused" | "resumed" | "removed" | "changed" }
  | { readonly type: "stopped"; readonly reason: StopReason }
  | { readonly type: "exec.started"; readonly exec: string; readonly argv: readonly string[] }
  | {
      readonly type: "exec.ended";
      readonly exec: string;
      readonly code: number | null;
      readonly signal: number | null;
      readonly timedOut: boolean;
    };

export type SandboxEvent = About & SandboxEventDetails;

export type SandboxListener = (event: SandboxEvent) => void;
