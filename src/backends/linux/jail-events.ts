/** Parses events of the jail's control stream. It runs outside the walls, but its words are checked like any other. */
import type { CarryReport, HiddenFiles, Layer, SandboxEnd, UsedSoFar } from "../../core/backend.js";
import { AgentKernelError, errorCodeOf } from "../../core/errors.js";

export type JailEvent =
  | { readonly event: "warm" }
  | { readonly event: "started"; readonly pid: number; readonly layers: readonly Layer[] }
  | { readonly event: "failed"; readonly error: AgentKernelError }
  | { readonly event: "ending"; readonly used: UsedSoFar }
  | { readonly event: "exited"; readonly end: SandboxEnd };

export type Fields = Record<string, unknown>;

export function parseJailEvent(line: string): JailEvent {
  const fields = JSON.parse(line) as unknown;
  if (!isFields(fields)) throw unexpected(line);
  switch (fields.event) {
    case "started":
      return { event: "started", pid: number(fields, "pid"), layers: list(fields.layers).map(layer) };
    case "warm":
      return { event: "warm" };
    case "failed":
      return { event: "failed", error: failure(fields) };
    case "ending":
      return {
        event: "ending",
        used: usedSoFar(fields),
      };
    case "exited":
      return { event: "exited", end: sandboxEnd(fields) };
    default:
      throw unexpected(line);
  }
}

export function failure(fields: Fields): AgentKernelError {
  const { code, message, hint } = fields;
  return new AgentKernelError(errorCodeOf(code), String(message), typeof hint === "string" ? { hint } : {});
}

export function sandboxEnd(fields: Fields): SandboxEnd {
  return {
    code: numberOrNull(fields.code),
    signal: numberOrNull(fields.signal),
    ...usedSoFar(fields),
    carried: isFields(fields.carried) ? carryReport(fields.carried) : null,
    ...(typeof fields.said === "string" ? { said: fields.said } : {}),
  };
}

function usedSoFar(fields: Fields): UsedSoFar {
  return {
    oomKills: number(fields, "oomKills"),
    pidsDenied: number(fields, "pidsDenied"),
    memoryPeakBytes: numberOrNull(fields.memoryPeakBytes),
    cpuUs: numberOrNull(fields.cpuUs),
  };
}

export function carryReport(fields: Fields): CarryReport {
  const paths = (name: string) => list(fields[name]).map(String);
  return {
    written: paths("written"),
    deleted: paths("deleted"),
    conflicts: paths("conflicts"),
    refused: paths("refused"),
    held: paths("held"),
    heldAs: typeof fields.heldAs === "string" ? fields.heldAs : null,
    omitted: number(fields, "omitted"),
    repositories: paths("repositories"),
  };
}

export function layer(value: unknown): Layer {
  if (!isFields(value)) throw unexpected(String(value));
  const { name, state, detail, hidden } = value;
  if (typeof name !== "string" || (state !== "applied" && state !== "partial" && state !== "absent")) {
    throw unexpected(JSON.stringify(value));
  }
  return {
    name,
    state,
    ...(typeof detail === "string" ? { detail } : {}),
    ...(isFields(hidden) ? { hidden: hiddenFiles(hidden) } : {}),
  };
}

function hiddenFiles(fields: Fields): HiddenFiles {
  const files = list(fields.files).map((file) => {
    if (!isFields(file)) throw unexpected(String(file));
    return { path: String(file.path), reason: String(file.reason) };
  });
  return { count: number(fields, "count"), tracked: number(fields, "tracked"), files };
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw unexpected(JSON.stringify(value));
  return value;
}

export function number(fields: Fields, name: string): number {
  const value = fields[name];
  if (typeof value !== "number") throw unexpected(`${name}: ${JSON.stringify(value)}`);
  return value;
}

export function numberOrNull(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

export function unexpected(what: string): AgentKernelError {
  return new AgentKernelError("internal", `the jail said something unexpected: ${what.slice(0, 200)}`);
}
