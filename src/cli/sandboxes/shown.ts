/** Sandboxes that stay, as `--json` shows them. */
import { shownCarry } from "../../core/shown-carry.js";
import type { ExecInfo, SandboxInfo, SandboxSummary, TerminalInfo } from "../../runtime/sandboxes/index.js";

export function shownSummary(summary: SandboxSummary): object {
  const { createdAtMs, startedAtMs } = summary;
  return {
    name: summary.name,
    id: summary.id,
    state: summary.state,
    owner: summary.owner,
    image: summary.image,
    project: summary.projectDir,
    created_at: new Date(createdAtMs).toISOString(),
    started_at: startedAtMs === null ? null : new Date(startedAtMs).toISOString(),
    ttl_ms: summary.ttlMs,
    ttl_left_ms: summary.ttlLeftMs,
    idle_timeout_ms: summary.idleTimeoutMs,
    running_execs: summary.runningExecs,
    running_terminals: summary.runningTerminals,
  };
}

export function shownInfo(info: SandboxInfo): object {
  const { usage, lastEnd } = info;
  return {
    ...shownSummary(info),
    backend: info.backend,
    backend_why: info.backendWhy,
    image: { ...info.image, why: info.imageWhy },
    profile: info.policy.profile,
    policy: info.policy,
    policy_version: info.policyVersion,
    layers: info.layers,
    ports: info.ports.map(({ address, hostPort, guestPort }) => ({
      address,
      host_port: hostPort,
      guest_port: guestPort,
    })),
    usage: usage === null ? null : shownUsage(usage),
    execs: info.execs.map(shownExec),
    terminals: info.terminals.map(shownTerminal),
    last_end:
      lastEnd === null
        ? null
        : {
            at: new Date(lastEnd.atMs).toISOString(),
            lost: lastEnd.lost,
            reason: endReason(info),
            changes: shownCarry(lastEnd.end.carried),
          },
    notes: info.notes,
  };
}

/** Why it ended by itself, as far as anybody said; null where it was ended in order, or nobody knows. */
export function endReason({ lastEnd, policy }: Pick<SandboxInfo, "lastEnd" | "policy">): string | null {
  if (lastEnd === null) return null;
  const { code, oomKills, said = null } = lastEnd.end;
  if (said !== null) return said;
  const isByItself = code !== 0 && !lastEnd.lost;
  return isByItself && oomKills > 0 ? `the memory limit of ${policy.resources.memoryMiB} MiB was reached` : null;
}

export function shownUsage(usage: NonNullable<SandboxInfo["usage"]>): object {
  return {
    cpu_us: usage.cpuUs,
    memory_bytes: usage.memoryBytes,
    memory_peak_bytes: usage.memoryPeakBytes,
    processes: usage.processes,
    oom_kills: usage.oomKills,
    processes_denied: usage.pidsDenied,
  };
}

function shownTerminal({ id, argv, cwd, user, startedAtMs, size, viewers }: TerminalInfo): object {
  const started = new Date(startedAtMs).toISOString();
  return { id, command: argv, cwd, user, started_at: started, columns: size.cols, rows: size.rows, viewers };
}

function shownExec(exec: ExecInfo): object {
  return {
    id: exec.id,
    command: exec.argv,
    cwd: exec.cwd,
    user: exec.user,
    tty: exec.tty,
    detached: exec.detached,
    state: exec.state,
    started_at: new Date(exec.startedAtMs).toISOString(),
    ended_at: exec.endedAtMs === null ? null : new Date(exec.endedAtMs).toISOString(),
    exit_code: exec.code,
    signal: exec.signal,
    timed_out: exec.timedOut,
    error: exec.error,
  };
}
