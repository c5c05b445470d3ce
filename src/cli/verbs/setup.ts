/** `setup`: what the machine lacks and how to repair it; or the file of a service. Shows before it does. */
import { AgentKernelError, errorTable } from "../../core/errors.js";
import { nativeBinary } from "../../core/native-binary.js";
import { type DoctorReport, examine } from "../../doctor/index.js";
import {
  type FileChange,
  machineFacts,
  makeChange,
  ownProgram,
  plannedRemoval,
  plannedWrite,
  type Remedy,
  remediesFor,
  runRemedy,
  type ServiceName,
  serviceFile,
  serviceNames,
} from "../../setup/index.js";
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";
import { isAgreed } from "../setup/consent.js";
import { changeText, remediesText, serviceDoneText } from "../setup/text.js";
import { verbs } from "../verbs.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const named = parsed.values.get("service")?.[0];
  const service = serviceNames.find((name) => name === named);
  if (service !== undefined) return await setUpService(service, parsed, invocation);
  if (parsed.flags.has("remove")) {
    throw new AgentKernelError("invalid_argument", "--remove: there is no service named to take away", {
      hint: "name it: agentkernel setup --service daemon --remove",
    });
  }
  return await setUpMachine(parsed, invocation);
}

async function setUpService(service: ServiceName, { flags }: ParsedOptions, invocation: Invocation): Promise<number> {
  const platform = process.platform === "darwin" ? "darwin" : "linux";
  const { env, homeDir } = invocation;
  if (!verbs.some(({ name }) => name.split(" ", 1)[0] === service)) {
    throw new AgentKernelError("unsupported", `--service ${service}: this version has no verb ${service}`, {
      hint: "agentkernel setup --service daemon installs the daemon",
    });
  }
  const file = serviceFile({ service, platform, program: ownProgram(), env, homeDir });
  const removes = flags.has("remove");
  const change = removes ? plannedRemoval(file.path) : plannedWrite(file.path, file.text);
  const shown = removes ? file.disable : file.enable;
  const isJson = flags.has("json");
  if (!isJson) await writeOut(invocation, changeText(change));
  const isDone = await carryOut(change, flags, invocation);
  if (isJson) {
    const { path, kind } = change;
    const data = { path, change: kind, done: isDone, text: file.text, commands: [...shown] };
    return await writeJson(invocation, { success: true, data });
  }
  return await writeOut(invocation, serviceDoneText(change, { isDone, commands: shown }));
}

async function carryOut(change: FileChange, flags: ReadonlySet<string>, invocation: Invocation): Promise<boolean> {
  if (change.kind === "none" || flags.has("print")) return false;
  if (!flags.has("yes")) {
    if (flags.has("json")) return false;
    const verb = change.kind === "remove" ? "Remove" : "Write";
    if (!(await isAgreed(invocation, `${verb} this file?`))) return false;
  }
  makeChange(change);
  return true;
}

async function setUpMachine({ flags }: ParsedOptions, invocation: Invocation): Promise<number> {
  const facts = machineFacts();
  const before = await examined(invocation);
  const found = remediesFor(before.checks, facts);
  const mayRun = flags.has("yes") && facts.isRoot && !flags.has("print");
  const failures = mayRun ? await runAll(found, invocation) : [];
  const wereRun = mayRun && found.some(({ commands }) => commands.length > 0);
  const report = wereRun ? await examined(invocation) : before;
  const left = wereRun ? remediesFor(report.checks, facts) : found;
  if (flags.has("json")) await writeJson(invocation, { success: true, data: machineJson(report, left, failures) });
  else await writeOut(invocation, remediesText(report, left, { isRoot: facts.isRoot }));
  return report.ok ? 0 : errorTable.backend_unavailable.exit;
}

async function examined(invocation: Invocation): Promise<DoctorReport> {
  const { bootGuest } = await import("../run/boot-guest.js");
  return await examine({
    probeBinary: nativeBinary("ak-probe"),
    bootGuest: (signal) => bootGuest(invocation, signal),
  });
}

async function runAll(remedies: readonly Remedy[], invocation: Invocation): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const remedy of remedies.filter(({ commands }) => commands.length > 0)) {
    for (const line of remedy.commands) await writeErr(invocation, `agentkernel: runs ${line}\n`);
    const failure = await runRemedy(remedy);
    if (failure === null) continue;
    failures.push(failure);
    await writeErr(invocation, `agentkernel: ${failure}\n`);
  }
  return failures;
}

function machineJson(report: DoctorReport, remedies: readonly Remedy[], failures: readonly string[]) {
  return {
    ok: report.ok,
    missing: remedies.map(({ layer, detail, nextStep, commands }) => ({
      layer,
      detail,
      next_step: nextStep,
      commands: [...commands],
    })),
    failures: [...failures],
  };
}
