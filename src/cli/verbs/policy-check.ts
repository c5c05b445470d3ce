/** `policy check`: every fault of the named files, without running anything. Status 0 if there is none. */
import { dirname, resolve } from "node:path";
import type { FileFault, SourceFile } from "../../config/index.js";
import { errorTable, isAgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import { userWidePath } from "../../request/configuration.js";
import { sourceOf } from "../../request/steering-files.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";
import type { fileKinds } from "../verbs.js";

type Config = typeof import("../../config/index.js");
type FileKind = (typeof fileKinds)[number];

interface Checked {
  readonly file: string;
  readonly kind: FileKind;
  readonly faults: readonly FileFault[];
  /** Keys that are right and do nothing in this version. */
  readonly withoutEffect: readonly string[];
  /** Why it could not be looked at; null where it was. */
  readonly unreadable: string | null;
}

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const named = parsed.values.get("kind")?.[0] as FileKind | undefined;
  const config = await import("../../config/index.js");
  const checked: Checked[] = [];
  for (const name of parsed.rest) {
    const path = resolve(invocation.cwd, name);
    checked.push(await check(config, name, path, named ?? kindOf(path, userWidePath(invocation))));
  }
  const isRight = checked.every(({ faults, unreadable }) => faults.length === 0 && unreadable === null);
  const status = isRight ? 0 : errorTable.invalid_policy.exit;
  if (parsed.flags.has("json")) {
    await writeJson(invocation, { success: true, data: { valid: isRight, files: checked.map(forPrograms) } });
    return status;
  }
  for (const one of checked) await print(invocation, one, config.faultSentence);
  return status;
}

async function check(config: Config, name: string, path: string, kind: FileKind): Promise<Checked> {
  let source: SourceFile;
  try {
    source = sourceOf({ name, path });
  } catch (error) {
    // The other files are looked at all the same.
    if (!isAgentKernelError(error)) throw error;
    return { file: name, kind, faults: [], withoutEffect: [], unreadable: error.message };
  }
  if (kind === "policy") {
    const { faults } = await config.readPolicyFile(source, dirname(path));
    return { file: name, kind, faults, withoutEffect: [], unreadable: null };
  }
  const { value, faults } = await config.readConfigFile(source, kind);
  const withoutEffect = value?.withoutEffect.map(({ text }) => text) ?? [];
  return { file: name, kind, faults, withoutEffect, unreadable: null };
}

function kindOf(path: string, userWide: string | null): FileKind {
  if (!path.toLowerCase().endsWith(".toml")) return "policy";
  return path === userWide || path.endsWith("/agentkernel/config.toml") ? "user" : "project";
}

function forPrograms({ file, kind, faults, withoutEffect, unreadable }: Checked): object {
  return {
    file,
    kind,
    faults: faults.map(({ line, column, message, hint = null }) => ({ line, column, message, hint })),
    without_effect: withoutEffect,
    unreadable,
  };
}

async function print(invocation: Invocation, checked: Checked, faultSentence: Config["faultSentence"]): Promise<void> {
  const { file, kind, faults, withoutEffect, unreadable } = checked;
  if (unreadable !== null) {
    const hint = "  hint: correct its path or its rights\n";
    await writeErr(invocation, `agentkernel: ${escapeText(unreadable)}\n${hint}`);
    return;
  }
  for (const fault of faults) {
    const hint = fault.hint === undefined ? "" : `  hint: ${escapeText(fault.hint)}\n`;
    await writeErr(invocation, `agentkernel: ${escapeText(faultSentence(fault))}\n${hint}`);
  }
  for (const key of withoutEffect)
    await writeErr(invocation, `agentkernel: ${escapeText(key)} has no effect in this version yet\n`);
  if (faults.length === 0) await writeOut(invocation, `${escapeText(file)}: a valid ${kindNames[kind]}\n`);
}

const kindNames: Readonly<Record<FileKind, string>> = {
  project: "project configuration",
  user: "user-wide configuration",
  policy: "policy",
};
