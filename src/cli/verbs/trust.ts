/** `trust`: the user's word about what a project's own settings ask for, remembered for their content. */
import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import { type Configuration, readConfiguration, readProjectTrust } from "../../request/configuration.js";
import { projectFolder } from "../../request/project-folder.js";
import { changedLines, type ProjectTrust, type TrustPart } from "../../request/trust/index.js";
import { listTrust, revokeTrust, type TrustRecord } from "../../request/trust/record.js";
import { wordsOf } from "../images/words.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";
import { filesOf } from "../run-spec.js";
import { decided, forgotten } from "../trust/decided.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { flags } = parsed;
  const json = flags.has("json");
  if (flags.has("list") && flags.has("revoke")) {
    throw new AgentKernelError("invalid_argument", "--list contradicts --revoke", { hint: "leave one of them out" });
  }
  if (flags.has("list")) {
    wordsOf(parsed, "trust --list", "no directory", 0, 0);
    return await list(invocation, json);
  }
  const [name = "."] = wordsOf(parsed, "trust", "one directory", 0, 1);
  const path = resolve(invocation.cwd, name);
  const { audit } = await readConfiguration(filesOf(parsed), invocation);
  if (flags.has("revoke")) return await revoke(path, name, audit, invocation, json);
  const dir = projectFolder({ path, field: "the directory", shown: name });
  return await allow(dir, audit, invocation, json);
}

async function allow(
  cwd: string,
  audit: Configuration["audit"],
  invocation: Invocation,
  json: boolean,
): Promise<number> {
  const { env, homeDir } = invocation;
  const trust = await readProjectTrust({ cwd, env, homeDir });
  const parts = trust === null ? [] : askingParts(trust);
  if (trust === null || parts.length === 0) {
    if (json) return await writeJson(invocation, { success: true, data: { dir: cwd, allowed: [] } });
    return await writeOut(invocation, `${escapeText(cwd)} asks for nothing that you would have to allow\n`);
  }
  await decided(trust, parts, "allowed", audit, invocation);
  const allowed = parts.flatMap(({ lines }) => lines);
  if (json) return await writeJson(invocation, { success: true, data: { dir: trust.dir, allowed } });
  const shown = parts.flatMap(changedLines).map((line) => `  ${escapeText(line)}\n`);
  return await writeOut(
    invocation,
    `allowed in ${escapeText(trust.dir)}, until its settings change:\n${shown.join("")}`,
  );
}

function askingParts({ config, servers }: ProjectTrust): readonly TrustPart[] {
  return [config, servers()].filter((part) => part !== null).filter(({ lines }) => lines.length > 0);
}

async function revoke(
  path: string,
  name: string,
  audit: Configuration["audit"],
  invocation: Invocation,
  json: boolean,
): Promise<number> {
  // A project that is gone can still be forgotten.
  const dir = existsSync(path) ? realpathSync(path) : path;
  const isRevoked = revokeTrust(dir, invocation);
  if (!isRevoked) {
    throw new AgentKernelError("not_found", `${name}: there is no answer to forget`, {
      hint: "agentkernel trust --list shows the projects that have one",
    });
  }
  await forgotten(dir, audit, invocation);
  if (json) return await writeJson(invocation, { success: true, data: { dir, revoked: true } });
  return await writeOut(invocation, `forgotten: ${escapeText(dir)}\n`);
}

async function list(invocation: Invocation, json: boolean): Promise<number> {
  const records = listTrust(invocation);
  if (json) return await writeJson(invocation, { success: true, data: records.map(forPrograms) });
  if (records.length === 0) return await writeOut(invocation, "no project has been answered for\n");
  return await writeOut(invocation, records.map(recordText).join(""));
}

function forPrograms({ dir, decisions }: TrustRecord): object {
  return { dir, decisions };
}

function recordText({ dir, decisions }: TrustRecord): string {
  const lines = Object.values(decisions).flatMap(({ decision, lines: asked, at }) => [
    `  ${decision} ${at}`,
    ...asked.map((line) => `    ${line}`),
  ]);
  return [dir, ...lines].map((line) => `${escapeText(line)}\n`).join("");
}
