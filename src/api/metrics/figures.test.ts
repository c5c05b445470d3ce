import { describe, expect, it } from "vitest";
import { Counter, Histogram } from "./figures.js";
import { Metrics } from "./index.js";

describe("figures", () => {
  it("count by labels", () => {
    const counter = new Counter("c_total", "Counts.");
    counter.add({ code: "200" });
    counter.add({ code: "200" }, 2);
    counter.add({ code: 'a"b\n' });
    expect(counter.text()).toBe(
      '# HELP c_total Counts.\n# TYPE c_total counter\nc_total{code="200"} 3\nc_total{code="a_b_"} 1\n',
    );
  });

  it("sort durations into buckets that hold all shorter ones too", () => {
    const histogram = new Histogram("h_seconds", "Times.");
    for (const ms of [1, 3, 400_000]) histogram.observeMs(ms);
    const lines = histogram.text().split("\n");
    expect(lines).toContain('h_seconds_bucket{le="0.001"} 1');
    expect(lines).toContain('h_seconds_bucket{le="0.005"} 2');
    expect(lines).toContain('h_seconds_bucket{le="300"} 2');
    expect(lines).toContain('h_seconds_bucket{le="+Inf"} 3');
    expect(lines).toContain("h_seconds_count 3");
  });

  it("make a text in which every line is one that Prometheus reads", () => {
    const metrics = new Metrics();
    metrics.answered("run", 200, 5);
    metrics.started({ kind: "run", isWarm: true, ms: 3 });
    metrics.ended({ ms: 2, timedOut: false });
    metrics.egress("denied");
    metrics.failed("not_found");
    const line = /^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [0-9.e+-]+)$/;
    for (const one of metrics.text().trimEnd().split("\n")) expect(one).toMatch(line);
    expect(metrics.text()).toContain('agentkernel_sandbox_starts_total{kind="run",start="warm"} 1');
  });
});
