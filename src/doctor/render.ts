/** A doctor's report as text for a terminal, and as the object that `--json` prints. Decides nothing. */
import { escapeText } from "../core/escape.js";
import type { CheckState, DoctorReport } from "./report.js";

interface RenderOptions {
  readonly colour: boolean;
}

const signs: Readonly<Record<CheckState, { readonly sign: string; readonly colour: number }>> = {
  works: { sign: "✓", colour: 32 },
  fails: { sign: "✗", colour: 31 },
  "not-needed": { sign: "–", colour: 90 },
};

export function renderText(report: DoctorReport, { colour }: RenderOptions): string {
  const paint = (text: string, code: number) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);
  const names = [...report.checks, ...report.backends].map(({ name }) => name.length);
  const width = Math.max(0, ...names);
  const row = (state: CheckState, name: string, text: string) => {
    const { sign, colour: code } = signs[state];
    return `${paint(sign, code)} ${name.padEnd(width)}  ${escapeText(text)}`;
  };
  const below = (text: string) => `  ${" ".repeat(width)}  ${escapeText(text)}`;

  const lines = ["Layers"];
  for (const { state, name, detail, ms, nextStep } of report.checks) {
    lines.push(row(state, name, ms === null ? detail : `${detail} (${ms.toFixed(1)} ms)`));
    if (nextStep !== null) lines.push(below(`next step: ${nextStep}`));
  }
  lines.push("", "Backends");
  for (const { name, usable, detail, weaker, nextStep = null, lacks = [] } of report.backends) {
    lines.push(row(usable ? "works" : "fails", name, detail));
    if (nextStep !== null) lines.push(below(`next step: ${nextStep}`));
    for (const { capability, reason } of usable ? lacks : []) lines.push(below(`lacks ${capability}: ${reason}`));
    for (const { layer, consequence } of weaker) lines.push(below(`without ${layer}: ${consequence}`));
  }
  const { automatic } = report;
  if (automatic !== null) lines.push("", `Without --backend: ${automatic.name} (${escapeText(automatic.why)})`);
  return `${lines.join("\n")}\n`;
}

/** Field names are those of our other JSON: lower case with underscores. */
export function renderJson(report: DoctorReport) {
  return {
    ok: report.ok,
    checks: report.checks.map(({ name, state, detail, nextStep, ms }) => ({
      name,
      state,
      detail,
      next_step: nextStep,
      ms,
    })),
    backends: report.backends.map(({ name, usable, detail, missing, weaker, nextStep = null, lacks = [] }) => ({
      name,
      usable,
      detail,
      next_step: nextStep,
      lacks: lacks.map(({ capability, reason }) => ({ capability, reason })),
      missing: [...missing],
      weaker: weaker.map(({ layer, consequence }) => ({ layer, consequence })),
    })),
    automatic: report.automatic && { backend: report.automatic.name, why: report.automatic.why },
  };
}
