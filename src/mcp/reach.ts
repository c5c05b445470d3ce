/** A sandbox by its name: one of this connection's own, or one of its project that stays and that the caller may see. */
import { maySee, ownerOf, refuseUnlessScoped } from "../api/auth/caller.js";
import type { Scope } from "../api/operations/operation.js";
import { AgentKernelError } from "../core/errors.js";
import type { Sandbox, Sandboxes } from "../runtime/sandboxes/index.js";
import type { SessionSandbox } from "../runtime/session-sandbox.js";
import type { Call } from "./tool.js";

export type Reached =
  | { readonly kind: "session"; readonly name: string; readonly sandbox: SessionSandbox }
  | { readonly kind: "named"; readonly name: string; readonly sandbox: Sandbox };

/** `scope`: any of these a caller needs for one that stays. */
export function reach(
  name: string,
  { host, sessions }: Pick<Call, "host" | "sessions">,
  scope: readonly Scope[] = ["sandboxes"],
): Reached {
  const own = sessions.get(name);
  if (own !== null) return { kind: "session", name, sandbox: own };
  if (host.sandboxes === null) throw notFound(name);
  const sandbox = host.sandboxes.list().find((one) => one.name === name);
  if (sandbox !== undefined && isInReach(sandbox, host)) {
    refuseUnlessScoped(host.caller, scope);
    return { kind: "named", name, sandbox };
  }
  throw notFound(name);
}

/** One that stays: those of a session keep neither output nor changes. */
export function named(name: string, call: Pick<Call, "host" | "sessions">, scope?: readonly Scope[]): Sandbox {
  const reached = reach(name, call, scope);
  if (reached.kind === "named") return reached.sandbox;
  throw new AgentKernelError("conflict", `the sandbox ${name} is this session's own and does not stay`, {
    hint: "make one with sandbox_create",
    details: { field: "name" },
  });
}

/**
 * What a key may see, its scope says. The user may see everything; a model that works for the user in one project has no
 * business in another's sandboxes.
 */
export function isInReach(
  { name, owner, record }: Pick<Sandbox, "name" | "owner" | "record">,
  { caller, project }: Pick<Call["host"], "caller" | "project">,
): boolean {
  if (!maySee(caller, { name, owner })) return false;
  if (!caller.isTrusted || caller.sandboxes?.includes(name)) return true;
  const { projectDir, madeIn } = record;
  return owner === ownerOf(caller) && (madeIn === project || (projectDir !== null && projectDir === project));
}

/** Those that stay. */
export function sandboxesOf({ sandboxes }: Call["host"]): Sandboxes {
  if (sandboxes !== null) return sandboxes;
  throw new AgentKernelError("conflict", "sandboxes that stay need the agentkernel daemon, and none serves this", {
    hint: "use sandbox_session_create, or start the daemon (agentkernel daemon start) and this server again",
  });
}

/** A command or a file in a sandbox that does not run means that it should. */
export async function ensureRunning(sandbox: Sandbox, { host, signal }: Pick<Call, "host" | "signal">): Promise<void> {
  if (sandbox.isServing || sandbox.state === "paused") return;
  await sandbox.start({ hostEnv: hostEnvFor(host), signal });
}

/** What the policy passes on, and values of secrets, are the machine's user's: nobody else's sandbox gets them. */
export function hostEnvFor({ caller, own }: Call["host"]): Call["host"]["own"]["env"] {
  return caller.isTrusted ? own.env : {};
}

function notFound(name: string): AgentKernelError {
  return new AgentKernelError("not_found", `there is no sandbox ${name}`, {
    hint: "sandbox_list shows those that there are",
    details: { field: "name" },
  });
}
