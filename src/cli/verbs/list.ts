/** `list`: the sandboxes that stay. */
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import type { SandboxSummary } from "../../runtime/sandboxes/index.js";
import { ageText, leftText, tableText } from "../images/text.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";
import { sandboxesOf } from "../sandboxes/residents.js";
import { shownSummary } from "../sandboxes/shown.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const sandboxes = sandboxesOf(invocation);
  const all = sandboxes.list().map((sandbox) => sandbox.summary());
  const unreadable = sandboxes.unreadable();
  if (parsed.flags.has("json")) {
    const faults = unreadable.map(({ name, error }) => ({ name, state: null, error: error.message }));
    return await writeJson(invocation, { success: true, data: [...all.map(shownSummary), ...faults] });
  }
  for (const { error } of unreadable) await writeErr(invocation, `agentkernel: ${escapeText(error.message)}\n`);
  if (all.length === 0) return await writeOut(invocation, "no sandboxes; agentkernel create NAME makes one\n");
  const head = ["NAME", "STATE", "IMAGE", "PROJECT", "AGE", "TTL", "COMMANDS", "TERMINALS"];
  return await writeOut(invocation, tableText([head, ...all.map((summary) => row(summary, Date.now()))]));
}

function row(summary: SandboxSummary, nowMs: number): string[] {
  const { name, state, image, projectDir, createdAtMs, ttlLeftMs, runningExecs, runningTerminals } = summary;
  return [
    name,
    state,
    escapeText(image.name),
    projectDir === null ? "-" : escapeText(projectDir),
    ageText(nowMs - createdAtMs),
    ttlLeftMs === null ? "-" : leftText(ttlLeftMs),
    String(runningExecs),
    String(runningTerminals),
  ];
}
