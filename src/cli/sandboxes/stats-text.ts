/** The output of `stats`, for people and for programs. */
import type { SandboxStats } from "../../runtime/sandboxes/index.js";
import { sizeText, tableText } from "../images/text.js";

/** In percent of one core; null where it cannot be told. */
function cpuPercent(now: SandboxStats, before: SandboxStats | undefined): number | null {
  const [used, earlier] = [now.usage?.cpuUs ?? null, before?.usage?.cpuUs ?? null];
  if (used === null || earlier === null || before === undefined || now.atMs <= before.atMs) return null;
  // One that was started again begins at nothing.
  return Math.max(0, (used - earlier) / ((now.atMs - before.atMs) * 10));
}

export function statsTable(now: readonly SandboxStats[], before: readonly SandboxStats[]): string {
  if (now.length === 0) return "no sandbox runs\n";
  const head = ["NAME", "STATE", "CPU", "MEMORY", "PROCESSES", "DISK", "RECEIVED", "SENT"];
  const rows = now.map((stats) =>
    row(
      stats,
      before.find(({ name }) => name === stats.name),
    ),
  );
  return tableText([head, ...rows]);
}

function row(stats: SandboxStats, before: SandboxStats | undefined): string[] {
  const { name, state, usage, diskBytes, network, limits } = stats;
  const percent = cpuPercent(stats, before);
  const size = (bytes: number | null | undefined) => (bytes === null || bytes === undefined ? "-" : sizeText(bytes));
  return [
    name,
    state,
    percent === null ? "-" : `${percent.toFixed(1)} %`,
    usage === null ? "-" : `${size(usage.memoryBytes)} / ${sizeText(limits.memoryBytes)}`,
    usage === null ? "-" : `${usage.processes ?? "-"} / ${limits.processes}`,
    size(diskBytes),
    size(network.receivedBytes),
    size(network.sentBytes),
  ];
}

export function shownStats(stats: SandboxStats, before: SandboxStats | undefined): object {
  const { name, state, usage, diskBytes, network, limits } = stats;
  return {
    name,
    state,
    cpu_percent: cpuPercent(stats, before),
    cpu_us: usage?.cpuUs ?? null,
    memory_bytes: usage?.memoryBytes ?? null,
    memory_peak_bytes: usage?.memoryPeakBytes ?? null,
    memory_limit_bytes: limits.memoryBytes,
    processes: usage?.processes ?? null,
    processes_limit: limits.processes,
    disk_bytes: diskBytes,
    network: {
      received_bytes: network.receivedBytes,
      sent_bytes: network.sentBytes,
      connections: network.connections,
    },
  };
}
