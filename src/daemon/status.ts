/** The status of a daemon. */
import type { PoolStatus } from "../runtime/pool/index.js";

export interface DaemonStatus {
  readonly up: true;
  /** It serves nobody any more, and ends when those at work have. */
  readonly stopping: boolean;
  readonly pid: number;
  readonly version: string;
  readonly build: string;
  readonly node: string;
  readonly started_at: string;
  readonly uptime_ms: number;
  readonly socket: string;
  readonly log: string | null;
  readonly lost_log_lines: number;
  /** Command lines that it serves now, and has served. */
  readonly at_work: number;
  readonly served: number;
  /** A command line that needed it started it; it ends by itself when it owns nothing for a while. */
  readonly on_demand: boolean;
  readonly idle_timeout_ms: number | null;
  /** Reasons why it does not end by itself, a phrase each. */
  readonly held_by: readonly string[];
  readonly background: boolean;
  readonly service: string | null;
  /** Where the HTTP interface listens on TCP; null where it does not. */
  readonly url: string | null;
  readonly memory_bytes: number;
  readonly pool: PoolStatus;
}

const MOST_HELD_SHOWN = 5;

export function statusText(status: DaemonStatus): string {
  const { pid, version, uptime_ms: upMs, socket, log, at_work: atWork, served, memory_bytes: bytes } = status;
  return [
    `Daemon: ${status.stopping ? "stopping" : "running"}, process ${pid}, version ${version}, up ${uptimeText(upMs)}, ${Math.round(bytes / 2 ** 20)} MiB`,
    `Socket: ${socket}`,
    ...(status.url === null ? [] : [`HTTP: ${status.url}`]),
    `Log: ${log ?? "stderr of its process"}`,
    `Stays: ${stayText(status)}`,
    `Command lines: ${atWork} at work, ${served} served`,
    ...poolLines(status.pool),
  ].join("\n");
}

function poolLines({ warm, in_use: inUse, min, max, shapes }: PoolStatus): readonly string[] {
  return [
    `Pool: Warm VMs: ${warm}, In use: ${inUse}, Min/Max: ${min}/${max}`,
    ...shapes.map(
      (one) =>
        `  ${one.agent}: ${one.warm} warm, ${one.in_use} in use, ${one.taken} taken, ${one.missed} missed; ${one.shape}`,
    ),
  ];
}

function stayText({ on_demand: onDemand, idle_timeout_ms: idleMs, held_by: heldBy, service }: DaemonStatus): string {
  const origin = onDemand ? "started on demand" : service === null ? "started by you" : `run by ${service}`;
  const until = idleMs === null ? "until it is stopped" : `until it has owned nothing for ${durationText(idleMs)}`;
  return `${until} (${origin})${heldBy.length === 0 ? "" : `; held by ${heldText(heldBy)}`}`;
}

/** A daemon may hold hundreds of sandboxes; `list` has all of them. */
function heldText(heldBy: readonly string[]): string {
  const shown = heldBy.slice(0, MOST_HELD_SHOWN).join(", ");
  const more = heldBy.length - MOST_HELD_SHOWN;
  return more > 0 ? `${shown} and ${more} more` : shown;
}

/** `1 sandbox`, `2 sandboxes`. */
export function count(amount: number, what: string): string {
  const ending = amount === 1 ? "" : what.endsWith("x") ? "es" : "s";
  return `${amount} ${what}${ending}`;
}

/** As an option takes it. */
export function durationText(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`;
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
}

function uptimeText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  const hours = Math.floor(seconds / 3600);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}
