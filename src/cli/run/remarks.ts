/** Remarks for the user about a run that its output does not show. */
import { isIP } from "node:net";
import { scratchMiB } from "../../backends/linux/jail-spec.js";
import type { Layer, SandboxEnd } from "../../core/backend.js";
import { BEYOND_LIMITS, UNCOVERED } from "../../core/egress.js";
import type { Policy } from "../../core/policy.js";
import type { CommandEnd } from "../../runtime/command-end.js";
import { fullDiskRemark } from "../../runtime/full-disk.js";
import { leftOutRemark } from "../../runtime/host-programs/not-found.js";
import { hiddenIn } from "../../runtime/missed-paths.js";
import type { OpenPort } from "../../runtime/published-ports.js";
import type { ResolvedRoot } from "../../runtime/root-image.js";
import type { RunRequest } from "../../runtime/run-request.js";
import type { Blocked } from "../../runtime/sandbox-egress.js";
import { carriedRemarks } from "./carried.js";

const LISTED = 10;
/** As shells exit where there is no such command. */
const COMMAND_NOT_FOUND = 127;

/** Before the command runs: what protects less than it should, or is less than was asked for. */
export function remarksAtStart(request: RunRequest, layers: readonly Layer[]): readonly string[] {
  const { diskMiB } = request.policy.resources;
  const scratch = scratchMiB(request.policy.resources);
  const isTold = layers.some(({ name }) => name === "disk");
  const wasAsked = request.origins["resources.diskMiB"] !== "default" && !isTold;
  return [
    ...layers.filter((layer) => layer.state !== "applied").map((layer) => `${layer.name}: ${inShort(layer)}`),
    ...(wasAsked && scratch < diskMiB
      ? [`disk is ${scratch} MiB, not ${diskMiB}: a temporary sandbox writes to memory; raise --memory for more`]
      : []),
    ...hiddenRemarks(layers),
  ];
}

/** How many files, once; `policy explain` lists them. What git tracks is in its objects too, which git inside needs. */
function hiddenRemarks(layers: readonly Layer[]): readonly string[] {
  const hidden = hiddenIn(layers);
  if (hidden === null) return [];
  const { count, tracked } = hidden;
  const files = (number: number) => `${number} ${number === 1 ? "file" : "files"}`;
  const inHistory = `${tracked} of them ${tracked === 1 ? "is" : "are"} tracked by git, so commands can read them in its history`;
  return [
    `${files(count)} hidden, agentkernel policy explain lists them`,
    ...(tracked > 0 ? [`${inHistory}; change these secrets, and stop tracking them`] : []),
  ];
}

/** `--json` and `info` have the whole of it, and so has the page. */
function inShort({ detail, state }: Layer): string {
  return detail?.startsWith("a live mount: ")
    ? "a live mount: the cover of hidden and protected files has gaps, and sockets can be reached; see docs/files.md, Live mounts"
    : (detail ?? state);
}

export function publishedRemark({ address, hostPort, guestPort }: OpenPort): string {
  const host = isIP(address) === 6 ? `[${address}]` : address;
  return `port ${guestPort} of the sandbox is ${host}:${hostPort}`;
}

/** What the gateway refused, and how it could be allowed. */
export function blockedRemarks(blocked: readonly Blocked[], option = "--allow-domain"): readonly string[] {
  const shown = blocked.slice(0, LISTED).map((one) => blockedRemark(one, option));
  const more = blocked.length - shown.length;
  return more > 0 ? [...shown, `blocked: ${more} more; agentkernel audit list --denied has all`] : shown;
}

function blockedRemark({ host, port, rule, times }: Blocked, option: string): string {
  const where = port === null ? host : `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const often = times > 1 ? ` (${times} times)` : "";
  const isName = isIP(host) === 0 && /^[a-z0-9.-]+$/.test(host);
  const isUncovered = rule.startsWith(UNCOVERED) && rule !== BEYOND_LIMITS;
  return isName && isUncovered
    ? `blocked: ${where}${often}, allow with ${option} ${host}`
    : `blocked: ${where}${often}: ${rule}`;
}

/** A shell says which command it did not find, and cannot say why. */
export function missingRemark({ programs }: Pick<ResolvedRoot, "programs">, { exit }: CommandEnd): string | null {
  return exit.code === COMMAND_NOT_FOUND && programs !== undefined ? leftOutRemark(programs) : null;
}

/** How much a temporary sandbox may change. */
export function spaceMiB({ resources }: Policy, layers: readonly Layer[]): number {
  const isOnDisk = layers.some(({ name, state }) => name === "disk" && state === "applied");
  return isOnDisk ? resources.diskMiB : scratchMiB(resources);
}

/** After it: `fullMiB` is what there was, where that was too little; what the limits and the host's own changes did. */
export function remarksAtEnd(
  request: RunRequest,
  command: CommandEnd,
  end: SandboxEnd,
  fullMiB: number | null,
): readonly string[] {
  const { resources } = request.policy;
  const failed = command.exit.code !== 0;
  return [
    ...(command.timedOut ? [`timed out after ${resources.timeoutMs} ms; everything in the sandbox was ended`] : []),
    ...(end.oomKills > 0
      ? [`the memory limit of ${resources.memoryMiB} MiB was reached and a process killed; raise it with --memory`]
      : []),
    ...(failed && end.pidsDenied > 0
      ? [`the limit of ${resources.pids} processes was reached; raise it with --pids`]
      : []),
    ...(fullMiB === null ? [] : [fullDiskRemark(request.policy, fullMiB)]),
    ...(end.carried ? carriedRemarks(end.carried) : []),
  ];
}
