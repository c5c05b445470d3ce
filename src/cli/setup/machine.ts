/** `setup` of the machine: what each backend needs and costs, what is missing, and what the user picks of that. */
import { lstatSync } from "node:fs";
import { distFolder } from "../../core/build-id.js";
import { AgentKernelError, errorTable } from "../../core/errors.js";
import { nativeBinary, nativeNames } from "../../core/native-binary.js";
import { type DoctorReport, examine } from "../../doctor/index.js";
import { renderJson, renderText } from "../../doctor/render.js";
import type { Invocation } from "../../invocation/index.js";
import {
  checkOwnFiles,
  machineFacts,
  makeChange,
  type OwnFiles,
  ownProgram,
  plannedWrite,
  type Remedy,
  remediesFor,
  runRemedy,
  sameRepair,
  serviceFile,
  serviceNames,
} from "../../setup/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";
import { isAgreed } from "./consent.js";
import { backendsText, changeText, ownFilesText, remediesText, serviceDoneText } from "./text.js";

export async function setUpMachine({ flags }: ParsedOptions, invocation: Invocation): Promise<number> {
  const facts = machineFacts();
  const files = await verifiedFiles();
  const before = await examined(invocation);
  const found = remediesFor(before.checks, facts);
  const isJson = flags.has("json");
  const mayAsk = !isJson && !flags.has("print") && !flags.has("yes") && invocation.stdin.isTerminal;
  if (!isJson) {
    const missing = remediesText(found, { isRoot: facts.isRoot });
    await writeOut(invocation, `${backendsText(before)}${ownFilesText(files)}${missing}`);
  }
  const repairs = sameRepair(found.filter(({ commands }) => commands.length > 0)).map(([first]) => first);
  const runnable = facts.isRoot && !flags.has("print") ? repairs : [];
  const picked = flags.has("yes") ? runnable : mayAsk ? await pick(runnable, invocation) : [];
  const failures = await runAll(picked, invocation);
  if (mayAsk) await offerDaemon(invocation);
  const report = picked.length > 0 ? await examined(invocation) : before;
  if (isJson) {
    const left = remediesFor(report.checks, facts);
    await writeJson(invocation, { success: true, data: machineJson(report, left, { failures, files }) });
  } else {
    await writeOut(invocation, `\n${renderText(report, { colour: false })}`);
  }
  return report.ok ? 0 : errorTable.backend_unavailable.exit;
}

async function verifiedFiles(): Promise<OwnFiles | null> {
  const nativePath = (name: string) => {
    const known = nativeNames.find((one) => one === name);
    return known === undefined ? name : nativeBinary(known);
  };
  const platform = `${process.platform}-${process.arch}`;
  const files = await checkOwnFiles({ dist: distFolder(), platform, nativePath });
  if (files !== null && files.wrong.length > 0) {
    throw new AgentKernelError("digest_mismatch", `not as it was released: ${files.wrong.join(", ")}`, {
      hint: "install agentkernel again, and find out who changed these files",
    });
  }
  return files;
}

async function examined(invocation: Invocation): Promise<DoctorReport> {
  const { bootGuest } = await import("../run/boot-guest.js");
  return await examine({
    probeBinary: nativeBinary("ak-probe"),
    bootGuest: (signal) => bootGuest(invocation, signal),
  });
}

async function pick(remedies: readonly Remedy[], invocation: Invocation): Promise<readonly Remedy[]> {
  const picked: Remedy[] = [];
  for (const remedy of remedies) {
    if (await isAgreed(invocation, `Repair ${remedy.layer} by the commands above?`)) picked.push(remedy);
  }
  return picked;
}

/** Only where no service's file is there yet: what is there is the user's decision already. */
async function offerDaemon(invocation: Invocation): Promise<void> {
  const platform = process.platform === "darwin" ? "darwin" : "linux";
  const { env, homeDir } = invocation;
  const options = { platform, program: ownProgram(), env, homeDir } as const;
  if (serviceNames.some((service) => isThere(serviceFile({ ...options, service }).path))) return;
  const file = serviceFile({ ...options, service: "daemon" });
  const change = plannedWrite(file.path, file.text);
  await writeOut(invocation, `\n${changeText(change)}`);
  const isDone = await isAgreed(invocation, "Write this file, so that a daemon can be started at each login?");
  if (isDone) makeChange(change);
  await writeOut(invocation, serviceDoneText(change, { isDone, commands: file.enable }));
}

/** A link to nowhere is something too. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

async function runAll(remedies: readonly Remedy[], invocation: Invocation): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const remedy of remedies) {
    for (const line of remedy.commands) await writeErr(invocation, `agentkernel: runs ${line}\n`);
    const failure = await runRemedy(remedy);
    if (failure === null) continue;
    failures.push(failure);
    await writeErr(invocation, `agentkernel: ${failure}\n`);
  }
  return failures;
}

interface Done {
  readonly failures: readonly string[];
  readonly files: OwnFiles | null;
}

function machineJson(report: DoctorReport, remedies: readonly Remedy[], { failures, files }: Done) {
  return {
    ok: report.ok,
    missing: remedies.map(({ layer, detail, nextStep, commands }) => ({
      layer,
      detail,
      next_step: nextStep,
      commands: [...commands],
    })),
    failures: [...failures],
    verified_files: files?.checked ?? null,
    doctor: renderJson(report),
  };
}
