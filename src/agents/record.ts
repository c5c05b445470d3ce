/**
 * What installations have changed, kept so that an uninstall can restore it to the byte: per agent, scope and place one
 * file in our own state folder. It holds what we inserted and what that replaced, and nothing else of the user's files.
 * Without it an uninstall still works, entry by entry.
 */
import { createHash } from "node:crypto";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import { stateFolder } from "../core/state-folders.js";
import type { AgentName, Setting } from "./agent.js";
import type { Splice } from "./edit/splice.js";
import { readText } from "./files.js";
import type { FileChange, FileRecord } from "./plan.js";

interface InstallRecord {
  readonly files: Readonly<Record<string, FileRecord>>;
  /** That were made for files, outermost first. */
  readonly folders: readonly string[];
}

const none: InstallRecord = { files: {}, folders: [] };

export function readRecord(agent: AgentName, setting: Setting): InstallRecord {
  const path = placeOf(agent, setting);
  const text = readText(path);
  if (text === null) return none;
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
  } catch {
    // Said below, as for any other content that is not ours.
  }
  throw new AgentKernelError("conflict", `${path} is not what agentkernel wrote there`, {
    hint: "remove that file; an uninstall then takes out entry by entry what was installed",
  });
}

/** An installation on top of an earlier one adds to its record. */
export function addToRecord(
  old: InstallRecord,
  changes: readonly FileChange[],
  folders: readonly string[],
): InstallRecord {
  const files: Record<string, FileRecord> = { ...old.files };
  for (const { path, before, splices } of changes) {
    const known = before === null ? undefined : files[path];
    files[path] = {
      created: known?.created ?? before === null,
      splices: [...(known?.splices ?? []), ...splices],
    };
  }
  return { files, folders: [...new Set([...old.folders, ...folders])] };
}

export function writeRecord(agent: AgentName, setting: Setting, record: InstallRecord): void {
  const path = placeOf(agent, setting);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.new`, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

export function dropRecord(agent: AgentName, setting: Setting): void {
  rmSync(placeOf(agent, setting), { force: true });
}

function placeOf(agent: AgentName, { scope, at }: Setting): string {
  const project = scope === "user" ? "" : `-${createHash("sha256").update(at.cwd).digest("hex").slice(0, 16)}`;
  return join(stateFolder(at.env, at.homeDir), "agents", `${agent}-${scope}${project}.json`);
}

function isRecord(value: unknown): value is InstallRecord {
  if (!isObject(value) || !isObject(value.files) || !Array.isArray(value.folders)) return false;
  const isWhole = Object.values(value.files).every(
    (file) =>
      isObject(file) &&
      typeof file.created === "boolean" &&
      Array.isArray(file.splices) &&
      file.splices.every(isSplice),
  );
  return isWhole && value.folders.every((folder) => typeof folder === "string");
}

function isSplice(value: unknown): value is Splice {
  return (
    isObject(value) &&
    Number.isSafeInteger(value.offset) &&
    typeof value.removed === "string" &&
    typeof value.inserted === "string"
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
