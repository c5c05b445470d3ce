/** The output of `setup`. */
import { escapeText } from "../../core/escape.js";
import type { DoctorReport } from "../../doctor/index.js";
import { type FileChange, lineDiff, needsOf, type OwnFiles, type Remedy, sameRepair } from "../../setup/index.js";

export function changeText({ path, kind, before, after }: FileChange): string {
  const name = escapeText(path);
  if (kind === "none") return after === null ? `${name} is not there\n` : `${name} is as it should be\n`;
  const does = { create: "would be written", replace: "would be changed", remove: "would be removed" }[kind];
  const lines = lineDiff(before ?? "", after ?? "").map(escapeText);
  return `${name} ${does}:\n${lines.map((line) => `${line}\n`).join("")}`;
}

interface ServiceDone {
  readonly isDone: boolean;
  readonly commands: readonly string[];
}

export function serviceDoneText({ kind }: FileChange, { isDone, commands }: ServiceDone): string {
  if (kind === "none") return "";
  if (!isDone) return "nothing was changed\n";
  const said = kind === "remove" ? "removed; if it is running, end it:" : "written; to start it now and at each login:";
  return `${said}\n${commands.map((line) => `  ${line}\n`).join("")}`;
}

/** What can be chosen from: what works, what it asks of the machine, what it costs. */
export function backendsText({ backends, ok }: DoctorReport): string {
  const lines = backends.flatMap(({ name, detail }) => {
    const asked = needsOf(name);
    return [`${name}: ${detail}`, ...(asked === null ? [] : [`  needs ${asked.needs}`, `  costs ${asked.costs}`])];
  });
  const machines = needsOf("microvm");
  if (machines !== null && !backends.some(({ name }) => name === "microvm")) {
    lines.push("microvm: agentkernel setup --backend microvm gets what is missing, and proves it");
    lines.push(`  needs ${machines.needs}`, `  costs ${machines.costs}`);
  }
  if (!ok) lines.push("no backend can run sandboxes here yet");
  return `${lines.map(escapeText).join("\n")}\n`;
}

export function ownFilesText(files: OwnFiles | null): string {
  return files === null ? "" : `agentkernel itself: ${files.checked} files, all with the digests of the release\n`;
}

export function remediesText(remedies: readonly Remedy[], { isRoot }: { readonly isRoot: boolean }): string {
  const lines = remedies.length === 0 ? ["nothing is missing"] : [];
  for (const [first, ...alike] of sameRepair(remedies)) {
    const { nextStep, commands } = first;
    lines.push("", ...[first, ...alike].map(({ layer, detail }) => `${layer}: ${detail}`));
    if (commands.length === 0) lines.push(`  ${nextStep}`);
    else
      lines.push(
        isRoot ? "  run, or let setup --yes run:" : "  as root run:",
        ...commands.map((line) => `    ${line}`),
      );
  }
  return `${lines.map(escapeText).join("\n")}\n`;
}
