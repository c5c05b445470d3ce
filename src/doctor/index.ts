/**
 * `doctor`: proves the isolation layers of this machine by using them, through `ak-probe` and one real boot, and
 * says which backends can work and what to do about what is missing. It never decides by looking at files or
 * settings, and changes nothing.
 */
import { judgeBackends } from "./backends.js";
import { type BootGuest, checkGuest } from "./guest-check.js";
import { parseProbeLines } from "./probe-lines.js";
import { runProbe } from "./probe-run.js";
import { type BackendReport, type Check, type DoctorReport, layerNames } from "./report.js";

export type { Check, DoctorReport } from "./report.js";

interface ExamineOptions {
  /** Path of the built `ak-probe`. */
  readonly probeBinary: string;
  readonly bootGuest: BootGuest;
  /** For all probes together; each has a deadline of 1.5 s of its own, and they run side by side. */
  readonly probeDeadlineMs?: number;
  readonly guestDeadlineMs?: number;
  /** Proves the backends that are not made of these layers alone. */
  readonly proveOthers?: () => Promise<readonly Omit<BackendReport, "missing" | "weaker">[]>;
  /** Which of them a sandbox gets for which none is named. Asked when all are proven. */
  readonly chooseOne?: () => Promise<NonNullable<DoctorReport["automatic"]>>;
}

export async function examine(options: ExamineOptions): Promise<DoctorReport> {
  const { probeBinary, bootGuest, probeDeadlineMs = 5_000, guestDeadlineMs = 10_000 } = options;
  const layers = await checkLayers(probeBinary, probeDeadlineMs);
  // After the probes, not beside them: neither shall slow down or disturb the other.
  const checks = [...layers, await checkGuest(bootGuest, guestDeadlineMs)];
  const others = (await options.proveOthers?.()) ?? [];
  const backends = [...judgeBackends(checks), ...others.map((one) => ({ ...one, missing: [], weaker: [] }))];
  const ok = backends.some(({ usable }) => usable);
  const automatic = ok ? ((await options.chooseOne?.()) ?? null) : null;
  return { ok, checks, backends, automatic };
}

async function checkLayers(probeBinary: string, deadlineMs: number): Promise<readonly Check[]> {
  const run = await runProbe(probeBinary, deadlineMs);
  const decided = parseProbeLines(run.stdout);
  return layerNames.map(
    (name) =>
      decided.get(name) ?? {
        name,
        state: "fails",
        detail: `not proven: ${run.cutShort ?? "ak-probe did not report it"}`,
        nextStep: `Run \`${probeBinary} ${name}\` by itself to see what happens.`,
        ms: null,
      },
  );
}
