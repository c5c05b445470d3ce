/** Describes what `sync` carried back, in the words of every surface. */
import type { CarryReport } from "./backend.js";

interface ShownCarry extends Omit<CarryReport, "heldAs"> {
  readonly held_as: string | null;
}

export function shownCarry(report: CarryReport | null): ShownCarry | null {
  if (report === null) return null;
  const { heldAs, ...lists } = report;
  return { ...lists, held_as: heldAs };
}
