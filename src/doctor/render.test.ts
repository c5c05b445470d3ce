import { describe, expect, it } from "vitest";
import { renderJson, renderText } from "./render.js";
import type { DoctorReport } from "./report.js";

const report: DoctorReport = {
  ok: true,
  checks: [
    { name: "userns", state: "works", detail: "made one", nextStep: null, ms: 1.23 },
    { name: "idmap", state: "not-needed", detail: "needs root", nextStep: null, ms: 0.1 },
    { name: "kvm", state: "fails", detail: "evil \u001b[2Jtext\r\n\u202e\u009b", nextStep: "ask\u0007", ms: null },
  ],
  backends: [
    {
      name: "linux",
      usable: true,
      detail: "works, weaker without cgroup",
      missing: [],
      weaker: [{ layer: "cgroup", consequence: "limits are rlimits" }],
    },
  ],
  automatic: { name: "linux", why: "auto: no machine\u0007 here" },
};

describe("renderText", () => {
  it("shows each check with its sign, and the next step below the one that fails", () => {
    const lines = renderText(report, { colour: false }).split("\n");
    expect(lines[1]).toBe("✓ userns  made one (1.2 ms)");
    expect(lines[2]).toMatch(/^– idmap/);
    expect(lines[3]).toMatch(/^✗ kvm/);
    expect(lines[4]).toContain("next step: ask");
    expect(lines).toContain("✓ linux   works, weaker without cgroup");
    expect(lines).toContain("          without cgroup: limits are rlimits");
    expect(lines).toContain("Without --backend: linux (auto: no machine\\x07 here)");
  });

  it("lets no control, bidi or escape character of a detail through", () => {
    const text = renderText(report, { colour: false });
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(text).toContain("\\x1b[2Jtext\\r\\n\\u{202e}\\x9b");
  });

  it("colours the signs only when asked to", () => {
    expect(renderText(report, { colour: true })).toContain("\u001b[32m✓\u001b[0m userns");
    expect(renderText(report, { colour: false })).not.toContain("\u001b");
  });
});

describe("renderJson", () => {
  it("carries everything of the report", () => {
    expect(renderJson(report)).toMatchObject({
      ok: true,
      checks: [{ name: "userns", state: "works", ms: 1.23, next_step: null }, {}, { next_step: "ask\u0007" }],
      backends: [{ name: "linux", usable: true, weaker: [{ layer: "cgroup", consequence: "limits are rlimits" }] }],
      automatic: { backend: "linux" },
    });
  });
});
