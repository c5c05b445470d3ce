/** `setup --uninstall`: ends what runs and removes what agentkernel made for this user, all but the program itself. */
import { existsSync, rmdirSync } from "node:fs";
import { dirname } from "node:path";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { findProgram } from "../../core/find-program.js";
import { askDaemon } from "../../daemon/ask.js";
import { daemonPlace } from "../../daemon/socket-place.js";
import { removeFolders } from "../../images/unpack/unpacker-process.js";
import type { Invocation } from "../../invocation/index.js";
import {
  type FileChange,
  type KeptFolder,
  keptFolders,
  makeChange,
  ownProgram,
  plannedRemoval,
  runLine,
  serviceFile,
  serviceNames,
} from "../../setup/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";
import { endEverySandbox } from "../sandboxes/stop-all.js";
import { agentEntries } from "./agent-entries.js";
import { isAgreed } from "./consent.js";
import { programRemoval } from "./program-removal.js";

interface Service {
  readonly change: FileChange;
  readonly disable: readonly string[];
}

interface Services {
  readonly own: readonly Service[];
  /** Why a file that is there under one of these names stays. */
  readonly leftAlone: readonly string[];
}

export async function uninstall({ flags }: ParsedOptions, invocation: Invocation): Promise<number> {
  const { env, homeDir } = invocation;
  const { own: services, leftAlone } = installedServices(invocation);
  const entries = await agentEntries(invocation);
  const place = daemonPlace(env, homeDir);
  const folders = flags.has("keep-data") ? [] : keptFolders(env, homeDir, place.folder);
  const isJson = flags.has("json");
  if (!isJson) await writeOut(invocation, planText(services, entries.files, folders));
  if (flags.has("print") || (isJson && !flags.has("yes"))) return await told(false, 0);
  if (!flags.has("yes") && !(await isAgreed(invocation, "End and remove all of this?"))) return await told(false, 0);
  for (const { change, disable } of services) {
    await switchOff(disable, invocation);
    makeChange(change);
  }
  entries.remove();
  const ended = await endEverySandbox(invocation, "state-directory");
  // It starts none any more; what was being started meanwhile ends with it.
  await askDaemon(place, "POST", "/daemon/stop-all");
  await removeAll(folders.map(({ path }) => path));
  for (const { path } of folders) removeEmpty(dirname(path), homeDir);
  return await told(true, ended);

  async function told(isDone: boolean, ended: number): Promise<number> {
    if (isJson) {
      const paths = [...services.map(({ change }) => change.path), ...folders.map(({ path }) => path)];
      return await writeJson(invocation, { success: true, data: { done: isDone, removed: paths, ended } });
    }
    if (!isDone) return await writeOut(invocation, "nothing was changed\n");
    for (const why of leftAlone) await writeErr(invocation, `agentkernel: left alone: ${escapeText(why)}\n`);
    for (const path of entries.elsewhere)
      await writeErr(invocation, `agentkernel: ${escapeText(path)} belongs to a project and still names agentkernel\n`);
    return await writeOut(invocation, `removed; the program itself goes with: ${programRemoval()}\n`);
  }
}

/** Also files of ids that only a user namespace may touch. */
async function removeAll(paths: readonly string[]): Promise<void> {
  let cause: unknown;
  for (const path of paths) {
    // One that resists does not keep the others.
    await removeFolders([path]).catch((error: unknown) => {
      cause ??= error;
    });
  }
  const left = paths.filter((path) => existsSync(path));
  if (left.length === 0) return;
  throw new AgentKernelError("file_error", `not removed: ${left.join(", ")}`, {
    hint: "something still writes there, or it has files of another user; see to that and run this again",
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Folders around ours may have been made for ours. */
function removeEmpty(folder: string, homeDir: string): void {
  if (!folder.startsWith(`${homeDir}/`)) return;
  try {
    rmdirSync(folder);
  } catch (error) {
    // Others have something in it.
    if (error instanceof Error && "code" in error) return;
    throw error;
  }
  removeEmpty(dirname(folder), homeDir);
}

/** Files that somebody else wrote under these names are left alone. */
function installedServices({ env, homeDir }: Invocation): Services {
  const platform = process.platform === "darwin" ? "darwin" : "linux";
  const own: Service[] = [];
  const leftAlone: string[] = [];
  for (const service of serviceNames) {
    const file = serviceFile({ service, platform, program: ownProgram(), env, homeDir });
    try {
      const change = plannedRemoval(file.path);
      if (change.kind === "remove") own.push({ change, disable: file.disable });
    } catch (error) {
      if (!(error instanceof AgentKernelError && error.code === "conflict")) throw error;
      leftAlone.push(error.message);
    }
  }
  return { own, leftAlone };
}

/** A manager that is not here has nothing switched on; one that does not answer is told of. */
async function switchOff(commands: readonly string[], invocation: Invocation): Promise<void> {
  for (const line of commands) {
    if (findProgram(line.split(" ", 1)[0] ?? "", invocation.env.PATH) === null) continue;
    const failure = await runLine(line);
    if (failure !== null) await writeErr(invocation, `agentkernel: ${line}: ${failure}\n`);
  }
}

function planText(services: readonly Service[], entries: readonly string[], folders: readonly KeptFolder[]): string {
  const lines = [
    "every sandbox and the daemon would be ended, and these would be removed:",
    ...services.map(({ change }) => `  ${change.path}: a service`),
    ...entries.map((path) => `  ${path}: our entries for a coding agent`),
    ...folders.map(({ path, holds }) => `  ${path}: ${holds}`),
  ];
  if (lines.length === 1) lines.push("  nothing: there are no files of ours");
  return `${lines.map(escapeText).join("\n")}\n`;
}
