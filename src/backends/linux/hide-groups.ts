/** Rules as a spec has them: those that differ in their globs alone are said once. A third of the bytes, in their order. */
import type { HideRule } from "../../core/policy.js";

export interface HideGroup extends Omit<HideRule, "glob"> {
  readonly globs: readonly string[];
}

export function hideGroups(rules: readonly HideRule[]): readonly HideGroup[] {
  const groups: { rule: HideRule; globs: string[] }[] = [];
  for (const rule of rules) {
    const last = groups.at(-1);
    if (last !== undefined && isAlike(last.rule, rule)) last.globs.push(rule.glob);
    else groups.push({ rule, globs: [rule.glob] });
  }
  return groups.map(({ rule: { glob: _, ...rest }, globs }) => ({ ...rest, globs }));
}

function isAlike(a: HideRule, b: HideRule): boolean {
  return a.holds === b.holds && a.reason === b.reason && a.shows === b.shows;
}
