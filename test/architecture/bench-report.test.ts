/** The benchmark's own reckoning: intervals, time, what is left out, and what a report says first. */
import { describe, expect, it } from "vitest";
import { ratioInterval } from "../../bench/bootstrap.mjs";
import { withinBudget } from "../../bench/budget.mjs";
import { CannotRun } from "../../bench/cannot-run.mjs";
import { interleaved } from "../../bench/measure.mjs";
import { markdown } from "../../bench/report/markdown.mjs";
import { plotsOf } from "../../bench/report/plots.mjs";
import { take } from "../../bench/take.mjs";

const spread = (middle: number) => Array.from({ length: 101 }, (_, index) => middle * (1 + (index - 50) / 500));

describe("an interval", () => {
  it("holds the ratio of the medians, tightly where there are many samples", () => {
    const [low, high] = ratioInterval(spread(5), spread(10));
    expect(low).toBeLessThan(0.5);
    expect(high).toBeGreaterThan(0.5);
    expect(high - low).toBeLessThan(0.05);
    expect(ratioInterval(spread(5), spread(10))).toEqual([low, high]);
  });

  it("is wide where samples disagree", () => {
    const [low, high] = ratioInterval([1, 1, 1, 9, 9], [1, 9, 9, 1, 1]);
    expect(high / low).toBeGreaterThan(9);
  });
});

describe("a figure", () => {
  const sample = async () => ({ wallMs: 1, cpuMs: 0 });

  it("takes fewer samples when its time is up, but never too few to say anything", async () => {
    const rounds = { rounds: 1000, warmUps: 0 };
    expect((await withinBudget(0, () => interleaved({ one: sample }, rounds))).one).toHaveLength(5);
    expect((await interleaved({ one: sample }, { rounds: 7, warmUps: 3 })).one).toHaveLength(7);
  });

  it("that cannot run is left out with its reason, one that fails is told apart, and the others go on", async () => {
    const figure = (name: string, run: () => Promise<unknown>) => ({ name, promise: name, limit: null, run });
    const failing = (error: Error) => () => Promise.reject(error);
    const told: string[] = [];
    const taken = await take(
      [
        figure("a", failing(new CannotRun("no such program"))),
        figure("b", failing(new Error("it broke\nhere"))),
        figure("c", async () => ({ ratio: 1 })),
      ],
      {},
      { quick: true, untilMs: performance.now() + 1000, tell: (text) => told.push(text) },
    );
    expect(taken.skipped).toEqual([{ name: "a", reason: "no such program" }]);
    expect(taken.failed).toEqual([{ name: "b", reason: "it broke" }]);
    expect(taken.figures).toMatchObject([{ name: "c", isShort: true, result: { ratio: 1 } }]);
    expect(told.join("\n")).toMatch(/skipped a[\s\S]*failed b[\s\S]*measuring c/);
  });
});

describe("a report", () => {
  const side = (p50Ms: number) => ({ p50Ms, p95Ms: p50Ms * 2, p99Ms: p50Ms * 3 });
  const against = (ratio: number) => ({ ratio, interval: [ratio * 0.9, ratio * 1.1], ...side(5 / ratio) });
  const beside = { bwrap: against(1.5), docker: against(0.02), podman: against(1), true: against(9) };
  const figures = [
    {
      name: "run-beside-all",
      promise: "`run true`",
      limit: null,
      isShort: false,
      result: { subject: side(5), beside, skipped: { runsc: "no root" } },
    },
  ];
  const report = {
    at: "2030-01-31T12:00:00Z",
    quick: false,
    seconds: 60,
    environment: {
      kernel: "6.12",
      cpu: "x",
      cores: 2,
      memoryMiB: 1,
      cgroup: "v2",
      node: "v20",
      isRoot: true,
      rivals: { bwrap: "0.8" },
    },
    load: { start: 0.1, end: 0.2 },
    figures,
    skipped: [{ name: "egress-bulk", reason: "it needs root" }],
    failed: [],
  };
  const text = markdown(report, plotsOf(figures));

  it("says first where we win, where we lose and by how much", () => {
    const lines = text.split("\n").filter((line) => line !== "");
    expect(lines.slice(1, 7)).toEqual([
      "**We win:**",
      "- `run true`, warm against docker: 0.020 × (0.018–0.022), 50 times faster",
      "**We lose:**",
      "- `run true`, warm against bwrap: 1.50 × (1.35–1.65), 1.5 times as long",
      "**No difference that the samples show:**",
      "- `run true`, warm against podman: 1.00 × (0.90–1.10)",
    ]);
  });

  it("says what was left out and why, and of which machine it is", () => {
    expect(text).toContain("- `egress-bulk`: it needs root");
    expect(text).toContain("- runsc in `run-beside-all`: no root");
    expect(text).toContain("load average 0.1 at the start, 0.2 at the end");
    expect(text).toContain("bwrap 0.8");
  });

  it("has a picture with ours and theirs in it", () => {
    const [plot] = plotsOf(figures);
    expect(plot?.svg).toMatch(/class="ours".*[\s\S]*class="theirs"/);
    expect(text).toContain("(docs/bench/run-beside-all.svg)");
  });
});
