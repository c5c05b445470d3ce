import { expect, test } from "vitest";
import { BEYOND_LIMITS, UNCOVERED } from "../../core/egress.js";
import { blockedRemarks } from "./remarks.js";

test("an option is advised for what it could allow, and never against the user's limits", () => {
  const blocked = { host: "a.example", port: 443, times: 1 };
  expect(blockedRemarks([{ ...blocked, rule: UNCOVERED }])).toEqual([
    "blocked: a.example:443, allow with --allow-domain a.example",
  ]);
  expect(blockedRemarks([{ ...blocked, rule: BEYOND_LIMITS }])).toEqual([`blocked: a.example:443: ${BEYOND_LIMITS}`]);
});
