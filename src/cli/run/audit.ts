/** The audit log as a run uses it: on, off or required, by AGENTKERNEL_AUDIT. */
import { homedir } from "node:os";
import { AuditTrail, SandboxAudit } from "../../audit/index.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { auditFolder } from "../../core/state-home.js";
import type { RunRequest } from "../run-request.js";

export interface RunAudit {
  /** The sandbox that the records are about. */
  readonly id: string;
  readonly records: SandboxAudit;
  /** A run that cannot be recorded must not happen. */
  readonly isRequired: boolean;
  /** Where the log is required: returns once all records are in it, and rejects where they cannot be. */
  insist(): Promise<void>;
  /** The command runs and this process waits for it: the moment to write. */
  writeSoon(): void;
  /** Waits until everything is in the log. Returns what the user should know; rejects where the log is required. */
  settle(): Promise<readonly string[]>;
}

const settings = ["on", "off", "required"] as const;

export function openRunAudit(id: string, request: Pick<RunRequest, "env">): RunAudit {
  const setting = auditSetting();
  const trail = setting === "off" ? null : new AuditTrail({ folder: auditFolder(process.env, homedir()) });
  const isRequired = setting === "required";
  return {
    id,
    records: new SandboxAudit(trail, id, [process.env, request.env]),
    isRequired,
    async insist() {
      if (isRequired) await trail?.flush();
    },
    writeSoon() {
      trail?.writeSoon();
    },
    async settle() {
      try {
        await trail?.flush();
        return [];
      } catch (error) {
        if (isRequired || !isAgentKernelError(error)) throw error;
        return [error.message];
      }
    },
  };
}

function auditSetting(): (typeof settings)[number] {
  const { AGENTKERNEL_AUDIT: named = "on" } = process.env;
  const found = settings.find((setting) => setting === named);
  if (found !== undefined) return found;
  throw new AgentKernelError("invalid_argument", `AGENTKERNEL_AUDIT is "${named}"`, {
    hint: `set it to one of ${settings.join(", ")}, or leave it unset`,
  });
}
