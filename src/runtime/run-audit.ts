/** The audit log as a run uses it: on, off or required, by AGENTKERNEL_AUDIT, else by the user's configuration. */
import {
  type AuditEvent,
  AuditTrail,
  type AuditTrailOptions,
  defaultRetention,
  SandboxAudit,
  secretsIn,
} from "../audit/index.js";
import { AgentKernelError, isAgentKernelError } from "../core/errors.js";
import { auditBeginningsFile, auditFolder } from "../core/state-folders.js";
import type { Surroundings } from "../core/surroundings.js";
import type { RunRequest } from "./run-request.js";
import type { SharedAudit } from "./shared-audit.js";

export interface RunAudit {
  /** The sandbox that the records are about. */
  readonly id: string;
  readonly records: SandboxAudit;
  /** A run that cannot be recorded must not happen. */
  readonly isRequired: boolean;
  /** Where the log is required: returns once all records are in it, and rejects where they cannot be. */
  insist(): Promise<void>;
  /** The command runs and this process waits for it: the moment to write, unless others will write soon and together. */
  writeSoon(): void;
  /**
   * Nothing speaks against the log's taking the rest: it has taken what was there when it was a good moment to write, or
   * what others gave it before.
   */
  readonly isTaking: boolean;
  /** Waits until everything is in the log. Returns what the user should know; rejects where the log is required. */
  settle(): Promise<readonly string[]>;
  /** As `settle`, together with others that write: for what nobody waits for any more. */
  settleLater(): Promise<readonly string[]>;
}

/** Those who write to one log together, and how. A call is too short to have a moment of its own for writing. */
interface SharedWriting {
  readonly audit: SharedAudit;
  readonly what: "run" | "call";
}

const settings = ["on", "off", "required"] as const;

export function openRunAudit(
  id: string,
  { audit, hostEnv, policy }: Pick<RunRequest, "audit" | "hostEnv" | "policy">,
  surroundings: Pick<Surroundings, "env" | "homeDir">,
  shared: SharedWriting | null = null,
): RunAudit {
  const setting = auditSetting(hostEnv, audit.enabled !== false);
  const options = trailOptions(audit, surroundings);
  const isRequired = setting === "required";
  const isCall = shared?.what === "call";
  // A run that is not to happen without its records has a trail whose failures are its own.
  const sharedTrail = isRequired && !isCall ? undefined : shared?.audit.trail(options);
  const trail = setting === "off" ? null : (sharedTrail ?? new AuditTrail(options));
  let begun = Number.POSITIVE_INFINITY;
  // What many write to, one after the other, is believed to take what comes now as it took what came before.
  const isBelieved = () => trail === sharedTrail && trail?.isTaking === true;
  const settleBy = async (write: (trail: AuditTrail) => Promise<void>): Promise<readonly string[]> => {
    try {
      if (trail !== null) await write(trail);
      return [];
    } catch (error) {
      if (isRequired || !isAgentKernelError(error)) throw error;
      return [error.message];
    }
  };
  const findSecrets = () => [...secretsOf(policy, hostEnv), ...secretsIn([hostEnv, policy.proc.env])];
  const secrets = shared?.audit.secrets(hostEnv, policy, findSecrets) ?? findSecrets();
  return {
    id,
    records: new SandboxAudit(trail, id, secrets),
    isRequired,
    async insist() {
      if (isRequired) await trail?.flush();
    },
    writeSoon() {
      if (trail === null || isCall) return;
      begun = trail.recorded;
      if (!isBelieved()) trail.writeSoon();
    },
    get isTaking() {
      return trail === null || isBelieved() || trail.hasTaken(begun);
    },
    settle: () => settleBy((log) => (isCall && !isRequired ? log.written() : log.flush())),
    settleLater: () => settleBy((log) => (shared === null || isRequired ? log.flush() : log.written())),
  };
}

/** Outside every sandbox. Returns what the user should know; rejects where the log is required. */
export async function recordAlone(
  event: AuditEvent,
  audit: RunRequest["audit"],
  surroundings: Pick<Surroundings, "env" | "homeDir">,
): Promise<readonly string[]> {
  const setting = auditSetting(surroundings.env, audit.enabled !== false);
  if (setting === "off") return [];
  const trail = new AuditTrail(trailOptions(audit, surroundings));
  trail.record(event, secretsIn([surroundings.env]));
  try {
    await trail.flush();
    return [];
  } catch (error) {
    if (setting === "required" || !isAgentKernelError(error)) throw error;
    return [error.message];
  }
}

function secretsOf({ net }: RunRequest["policy"], hostEnv: RunRequest["hostEnv"]): readonly string[] {
  return net.secrets.flatMap(({ name }) => hostEnv[name] ?? []);
}

function trailOptions(
  audit: RunRequest["audit"],
  { env, homeDir }: Pick<Surroundings, "env" | "homeDir">,
): AuditTrailOptions {
  const maxFileBytes = (audit.max_mb ?? 0) * 2 ** 20;
  return {
    folder: audit.path ?? auditFolder(env, homeDir),
    beginnings: auditBeginningsFile(env, homeDir),
    ...(maxFileBytes > 0 ? { maxFileBytes } : {}),
    ...(audit.keep === undefined ? {} : { keepBytes: audit.keep * (maxFileBytes || defaultRetention.maxFileBytes) }),
  };
}

function auditSetting(env: RunRequest["hostEnv"], isEnabled: boolean): (typeof settings)[number] {
  const { AGENTKERNEL_AUDIT: named = isEnabled ? "on" : "off" } = env;
  const found = settings.find((setting) => setting === named);
  if (found !== undefined) return found;
  throw new AgentKernelError("invalid_argument", `AGENTKERNEL_AUDIT is "${named}"`, {
    hint: `set it to one of ${settings.join(", ")}, or leave it unset`,
  });
}
