/** The options of `audit list` and `audit tail`, and what they ask for. */
import { recordTypes } from "../audit/events.js";
import type { AuditFilter } from "../audit/query.js";
import type { AuditRecord } from "../audit/reader.js";
import { AgentKernelError } from "../core/errors.js";
import { escapeJson } from "../core/escape.js";
import { auditFolder } from "../core/state-folders.js";
import type { Invocation } from "../invocation/index.js";
import { parseDurationMs } from "../policy/resources.js";
import { readConfiguration } from "../request/configuration.js";
import type { ParsedOptions } from "./option-spec.js";
import { filesOf } from "./run-spec.js";

/** Where the user's configuration says, else the usual place. What whoever asks has seen end is in it. */
export async function openAuditFolder(parsed: ParsedOptions, invocation: Invocation): Promise<string> {
  const { audit } = await readConfiguration(filesOf(parsed), invocation);
  await invocation.resident?.afterAnswers();
  return audit.path ?? auditFolder(invocation.env, invocation.homeDir);
}

export function auditFilter(parsed: ParsedOptions, nowMs: number): AuditFilter {
  const [sandbox] = parsed.values.get("sandbox") ?? [];
  const types = parsed.values.get("type");
  for (const type of types ?? []) checkType(type);
  const sinceMs = moment(parsed, "since", nowMs);
  const untilMs = moment(parsed, "until", nowMs);
  return {
    ...(sandbox === undefined ? {} : { sandbox }),
    ...(types === undefined ? {} : { types }),
    ...(sinceMs === undefined ? {} : { sinceMs }),
    ...(untilMs === undefined ? {} : { untilMs }),
    deniedOnly: parsed.flags.has("denied"),
  };
}

function checkType(type: string): void {
  if (recordTypes.some((known) => known === type || known.startsWith(`${type}.`))) return;
  throw new AgentKernelError("invalid_argument", `--type: there are no records of the type "${type}"`, {
    hint: `one of ${recordTypes.join(", ")}, or the part before the dot`,
  });
}

/** `30m` and the like count back from now; else a date, with or without a time. */
function moment(parsed: ParsedOptions, option: string, nowMs: number): number | undefined {
  const [text] = parsed.values.get(option) ?? [];
  if (text === undefined) return undefined;
  if (/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return nowMs - parseDurationMs(`--${option}`, text);
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  if (days !== undefined) return nowMs - Number(days) * 24 * 60 * 60 * 1000;
  const atMs = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(atMs)) return atMs;
  throw new AgentKernelError("invalid_argument", `--${option}: "${text}" is not a time`, {
    hint: `write how long ago (30m, 12h, 7d) or when (2030-01-31, 2030-01-31T12:00:00Z)`,
  });
}

export function wholeNumber(parsed: ParsedOptions, option: string, usual: number): number {
  const [text] = parsed.values.get(option) ?? [];
  if (text === undefined) return usual;
  if (/^\d{1,7}$/.test(text) && Number(text) > 0) return Number(text);
  throw new AgentKernelError("invalid_argument", `--${option}: "${text}" is not a number from 1 to 9999999`, {
    hint: `write --${option} ${usual}`,
  });
}

/** The record as JSON that can be printed anywhere. */
export function recordJson(record: AuditRecord): string {
  return escapeJson(JSON.stringify(record.fields));
}
