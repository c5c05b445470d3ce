import { describe, expect, it } from "vitest";
import type { HideRule } from "../../core/policy.js";
import { builtInHideRules } from "../../policy/hidden.js";
import { hideGroups } from "./hide-groups.js";

/** As the jail reads them (native/jail/src/hide_rules.rs). */
const ungrouped = (rules: readonly HideRule[]) =>
  hideGroups(rules).flatMap(({ globs, ...rest }) => globs.map((glob) => ({ glob, ...rest })));

describe("rules in groups", () => {
  it("are the same rules in the same order", () => {
    const mixed: readonly HideRule[] = [
      { glob: "mine" },
      ...builtInHideRules,
      { glob: "certs", shows: true },
      { glob: "a", reason: "key" },
      { glob: "b", holds: "private-key", reason: "key" },
      { glob: "a", reason: "key" },
    ];
    expect(ungrouped(mixed)).toEqual(mixed);
    expect(hideGroups([])).toEqual([]);
  });

  it("say once what many have in common", () => {
    expect(hideGroups(builtInHideRules).length).toBeLessThan(builtInHideRules.length / 10);
  });
});
