/** Installs an agent's integration, or takes it out: the plan first, then, if it is wanted, all of its files. */
import { createTwoFilesPatch } from "diff";
import type { Agent, Setting } from "./agent.js";
import { applyChange, linkedTarget, readText, removeEmptyFolders } from "./files.js";
import { type FileChange, planInstall, planUninstall } from "./plan.js";
import { addToRecord, dropRecord, readRecord, writeRecord } from "./record.js";

export type Direction = "install" | "uninstall";

export interface Integration {
  readonly direction: Direction;
  readonly agent: Agent;
  readonly setting: Setting;
  /** Only files that change; none: it is as wanted already. */
  readonly changes: readonly FileChange[];
}

export function plan(direction: Direction, agent: Agent, setting: Setting): Integration {
  const files = agent.files(setting);
  for (const { path } of files) linkedTarget(path, setting);
  if (direction === "install") return { direction, agent, setting, changes: planInstall(files, readText) };
  const record = readRecord(agent.name, setting);
  const changes = planUninstall(files, readText, (path) => record.files[path] ?? null);
  return { direction, agent, setting, changes };
}

/** What is on record is written first: whatever is in a file then can be taken out again exactly. */
export function apply({ direction, agent: { name }, setting, changes }: Integration): void {
  const record = readRecord(name, setting);
  for (const { path } of changes) linkedTarget(path, setting);
  if (direction === "uninstall") {
    for (const change of changes) applyChange(change);
    removeEmptyFolders(record.folders);
    dropRecord(name, setting);
    return;
  }
  let known = record;
  for (const change of changes) {
    writeRecord(name, setting, addToRecord(known, [change], []));
    known = addToRecord(known, [change], applyChange(change));
    writeRecord(name, setting, known);
  }
}

/** The change of one file, as `diff -u` writes it; a path that leads elsewhere says so. */
export function diffOf({ path, before, after }: FileChange, setting: Setting): string {
  const target = linkedTarget(path, setting);
  const [from, to] = [before === null ? "/dev/null" : path, after === null ? "/dev/null" : path];
  const patch = createTwoFilesPatch(from, to, before ?? "", after ?? "", undefined, undefined, { context: 3 });
  return `${target === null ? "" : `${path} → ${target}\n`}${patch.slice(patch.indexOf("---"))}`;
}
