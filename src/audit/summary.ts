/** A record in one line, for people. What is in it may come from a sandbox, so the caller escapes it. */
import type { AuditRecord } from "./reader.js";

type Fields = AuditRecord["fields"];

const tellers: Readonly<Record<string, (fields: Fields) => string>> = {
  "sandbox.create": (f) => `${text(at(f, "image", "name"))}, ${policyWords(f)}${project(f)}${origin(f)}`,
  "sandbox.start": (f) => `${text(f.backend)} ${text(at(f, "image", "name"))}, ${policyWords(f)}${project(f)}`,
  "sandbox.ready": (f) => `walls: ${list(f.layers).map(layerWords).join(", ")}`,
  "sandbox.failed": (f) => `${text(f.code)}: ${text(f.message)}`,
  "sandbox.end": (f) => (list(f.limits).length === 0 ? "" : `limits reached: ${list(f.limits).map(text).join(", ")}`),
  "snapshot.start": (f) => text(f.snapshot),
  "snapshot.create": (f) => text(f.snapshot),
  "snapshot.failed": (f) => `${text(f.snapshot)}: ${text(f.message)}`,
  "snapshot.remove": (f) => text(f.snapshot),
  "exec.start": (f) => list(f.argv).map(word).join(" "),
  "exec.end": (f) => `${outcome(f)} after ${text(f.durationMs)} ms`,
  file: (f) => `${text(f.verdict)}: ${text(f.operation)} ${text(f.path)}${reason(f)}`,
  "project.write": (f) =>
    `by ${text(f.by)}: ${[...list(f.written).map(text), ...list(f.deleted).map(deleted)].join(", ")}`,
  egress: (f) => `${text(f.verdict)}: ${text(f.asked)}:${text(f.port)} by ${ruleWords(f)}${traffic(f)}`,
  tool: (f) => `${text(f.verdict)}: ${text(f.server)}/${text(f.tool)} by ${ruleWords(f)}${toolTraffic(f)}`,
  "policy.change": (f) => `${text(f.change)}, by ${text(f.by)}; ${text(at(f, "policy", "digest"))}`,
  approval: (f) => `${text(f.verdict)} (${text(f.answer)}): ${text(f.asked)}:${text(f.port)}, ${approvedBy(f)}`,
  trust: (f) => `${text(f.verdict)}: ${text(f.project)}: ${list(f.lines).map(text).join("; ")}`,
  "key.create": (f) => `${text(f.name)} may ${list(f.scopes).map(text).join(", ")}${ceilingWords(f)}`,
  "key.revoke": (f) => text(f.name),
  "audit.file": (f) => text(f.file),
  "audit.torn": (f) => `${text(f.bytes)} bytes of an unfinished line were cut off ${text(f.file)}`,
  "audit.recovered": (f) => `${text(f.reason)}${typeof f.file === "string" ? `: ${f.file}` : ""}`,
  "audit.pruned": (f) => `removed for their age or size: ${list(f.files).map(text).join(", ")}`,
};

export function summary({ time, type, sandbox, fields }: AuditRecord): string {
  const told = tellers[type]?.(fields) ?? "";
  return `${time}  ${type.padEnd(14)}  ${sandbox ?? "-"}${told === "" ? "" : `  ${told}`}`;
}

function deleted(path: unknown): string {
  return `-${text(path)}`;
}

function policyWords(fields: Fields): string {
  const policy = (name: string) => text(at(fields, "policy", name));
  return `${policy("profile")}, network ${policy("network")}, ${policy("digest").slice(0, 19)}`;
}

function project({ project: path }: Fields): string {
  return typeof path === "string" ? `, ${path}` : "";
}

function origin({ from }: Fields): string {
  return from === undefined ? "" : `, a copy of the ${text(at(from, "kind"))} ${text(at(from, "name"))}`;
}

function layerWords(layer: unknown): string {
  return `${text(at(layer, "name"))} ${text(at(layer, "state"))}`;
}

/** Quoted where a shell would need it, so that words can be told apart. */
function word(value: unknown): string {
  const plain = text(value);
  return /^[\w@%+=:,./-]+$/.test(plain) ? plain : `'${plain.replaceAll("'", `'\\''`)}'`;
}

function outcome(fields: Fields): string {
  if (typeof fields.error === "string") return `not run: ${fields.error}`;
  if (fields.timedOut === true) return "timed out";
  return typeof fields.code === "number" ? `status ${fields.code}` : `signal ${text(fields.signal)}`;
}

function ruleWords({ rule }: Fields): string {
  return typeof rule === "string" ? rule : "no rule";
}

function traffic({ dialled, bytesIn, bytesOut }: Fields): string {
  return typeof dialled === "string" ? `, ${dialled}, ${text(bytesIn)} bytes in, ${text(bytesOut)} out` : "";
}

function toolTraffic({ outcome: how, bytesIn, bytesOut, untrusted }: Fields): string {
  if (typeof how !== "string") return "";
  return `, ${how}, ${text(bytesOut)} bytes asked, ${text(bytesIn)} answered${untrusted === true ? ", untrusted" : ""}`;
}

function approvedBy({ by }: Fields): string {
  return by === "mcp" ? "through the agent's client" : "on the terminal";
}

function ceilingWords({ ceiling }: Fields): string {
  return typeof ceiling === "string" ? `, at most: ${ceiling}` : ", as the user";
}

function reason({ reason: why }: Fields): string {
  return typeof why === "string" ? ` (${why})` : "";
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => (isFields(inner) ? inner[name] : undefined), value);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "?" : JSON.stringify(value);
}
