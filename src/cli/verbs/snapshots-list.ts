/** `snapshots list`: what was kept of sandboxes. */
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import type { SnapshotInfo } from "../../runtime/sandboxes/index.js";
import { ageText, sizeText, tableText } from "../images/text.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";
import { sandboxesOf } from "../sandboxes/residents.js";
import { shownSnapshot } from "../sandboxes/shown-snapshot.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { snapshots } = sandboxesOf(invocation);
  const all = snapshots.list().map(({ info }) => info);
  const unreadable = snapshots.unreadable();
  if (parsed.flags.has("json")) {
    const faults = unreadable.map(({ name, error }) => ({ name, error: error.message }));
    return await writeJson(invocation, { success: true, data: [...all.map(shownSnapshot), ...faults] });
  }
  for (const { error } of unreadable) await writeErr(invocation, `agentkernel: ${escapeText(error.message)}\n`);
  if (all.length === 0) return await writeOut(invocation, "no snapshots; agentkernel snapshot NAME makes one\n");
  const head = ["NAME", "SANDBOX", "BACKEND", "IMAGE", "MEMORY", "SIZE", "AGE"];
  return await writeOut(invocation, tableText([head, ...all.map((info) => row(info, Date.now()))]));
}

function row({ name, sandbox, backend, image, memory, bytes, createdAtMs }: SnapshotInfo, nowMs: number): string[] {
  const size = bytes === null ? "-" : sizeText(bytes);
  return [
    name,
    sandbox.name,
    backend,
    escapeText(image.name),
    memory ? "yes" : "-",
    size,
    ageText(nowMs - createdAtMs),
  ];
}
