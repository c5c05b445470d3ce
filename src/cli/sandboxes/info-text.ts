/** The output of `info` for people. Everything in it that came from elsewhere is escaped. */
import { isIP } from "node:net";
import { escapeText } from "../../core/escape.js";
import type { ExecInfo, SandboxInfo, TerminalInfo } from "../../runtime/sandboxes/index.js";
import { numbersOf, settableNumbers } from "../../settings/index.js";
import { summaryOf } from "../../settings/numeric-setting.js";
import { ageText, leftText, sizeText } from "../images/text.js";
import { carriedRemarks } from "../run/carried.js";
import { endReason } from "./shown.js";

export function infoText(info: SandboxInfo, nowMs: number): string {
  const { policy, image, usage } = info;
  const { workspace } = policy.fs;
  const digest = image.digest === null ? "" : ` (${image.digest})`;
  const rows: (readonly [string, string])[] = [
    ["Name", info.name],
    ["Id", info.id],
    ["State", stateText(info, nowMs)],
    ["Backend", info.backendWhy === null ? info.backend : `${info.backend}: ${info.backendWhy}`],
    ["Image", `${image.name}${digest}: ${info.imageWhy}`],
    [
      "Project",
      info.projectDir === null
        ? "none"
        : `${info.projectDir} (${workspace.mode}${workspace.readonly ? ", read-only" : ""})`,
    ],
    ["Policy", `profile ${policy.profile}, mode ${policy.mode}, version ${info.policyVersion}`],
    ["Network", networkText(info)],
    ["Limits", limitsText(policy)],
    ["Made", `${ageText(nowMs - info.createdAtMs)} ago`],
    ["Time to live", info.ttlMs === null ? "none" : `${leftText(info.ttlLeftMs ?? 0)} left`],
    ["Idle timeout", info.idleTimeoutMs === null ? "none" : ageText(info.idleTimeoutMs)],
    ...(usage === null ? [] : [["Uses", usageText(usage)] as const]),
    ...info.ports.map(({ address, hostPort, guestPort }) => ["Port", portText(address, hostPort, guestPort)] as const),
    ...info.layers.map(
      ({ name, state, detail }) => ["Layer", `${name}: ${state}${detail === undefined ? "" : `, ${detail}`}`] as const,
    ),
    ...info.execs.map((exec) => ["Command", execText(exec, nowMs)] as const),
    ...info.terminals.map((terminal) => ["Terminal", terminalText(terminal, nowMs)] as const),
    ...syncedRemarks(info).map((remark) => ["Synced", remark] as const),
    ...info.notes.map((note) => ["Note", note] as const),
  ];
  const width = Math.max(...rows.map(([head]) => head.length));
  return rows.map(([head, text]) => `${head.padEnd(width)}  ${escapeText(text)}\n`).join("");
}

function stateText(info: SandboxInfo, nowMs: number): string {
  const { state, startedAtMs, lastEnd } = info;
  if (startedAtMs !== null) return `${state} for ${ageText(nowMs - startedAtMs)}`;
  if (state !== "stopped" || lastEnd === null) return state;
  const reason = endReason(info);
  const why = reason === null ? "" : `: ${reason}`;
  return `${state} ${ageText(nowMs - lastEnd.atMs)} ago${lastEnd.lost ? ", killed from outside" : ""}${why}`;
}

/** What the last stop carried over, which nobody may have been there to hear of. */
function syncedRemarks({ state, lastEnd }: SandboxInfo): readonly string[] {
  const carried = state === "stopped" ? lastEnd?.end.carried : null;
  return carried ? carriedRemarks(carried) : [];
}

function limitsText(policy: SandboxInfo["policy"]): string {
  const values = numbersOf(policy);
  return settableNumbers
    .flatMap(({ path, setting }) => {
      const value = values[path];
      return value === null ? [] : [summaryOf(setting, value)];
    })
    .join(", ");
}

function networkText({ policy: { net } }: SandboxInfo): string {
  if (net.egress !== "allowlist") return net.egress;
  const names = net.allow.map((rule) =>
    "domain" in rule ? rule.domain : "cidr" in rule ? rule.cidr : `preset ${rule.preset}`,
  );
  return `allowlist: ${names.join(", ") || "nothing"}`;
}

function usageText({ memoryBytes, cpuUs, processes }: NonNullable<SandboxInfo["usage"]>): string {
  const memory = memoryBytes === null ? "memory unknown" : `${sizeText(memoryBytes)} memory`;
  const cpu = cpuUs === null ? "cpu unknown" : `${(cpuUs / 1e6).toFixed(1)} s cpu`;
  return `${memory}, ${cpu}, ${processes ?? "unknown"} ${processes === 1 ? "process" : "processes"}`;
}

function portText(address: string, hostPort: number, guestPort: number): string {
  return `${isIP(address) === 6 ? `[${address}]` : address}:${hostPort} leads to port ${guestPort} inside`;
}

const SHOWN_CHARACTERS = 80;

function execText({ id, argv, state, code, signal, timedOut, startedAtMs, error }: ExecInfo, nowMs: number): string {
  const command = commandText(argv);
  const end = timedOut ? "timed out" : signal !== null ? `signal ${signal}` : `status ${code}`;
  const how =
    state === "running"
      ? `runs for ${ageText(nowMs - startedAtMs)}`
      : state === "ended"
        ? `ended, ${end}`
        : `${state}: ${error}`;
  return `${id} ${how}: ${command}`;
}

function terminalText({ id, argv, startedAtMs, size, viewers }: TerminalInfo, nowMs: number): string {
  const watched = viewers === 0 ? "nobody looks" : viewers === 1 ? "1 looks" : `${viewers} look`;
  return `${id} for ${ageText(nowMs - startedAtMs)}, ${size.cols}x${size.rows}, ${watched}: ${commandText(argv)}`;
}

function commandText(argv: readonly string[]): string {
  const words = argv.join(" ");
  return words.length > SHOWN_CHARACTERS ? `${words.slice(0, SHOWN_CHARACTERS)}…` : words;
}
