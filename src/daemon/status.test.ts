import { expect, it } from "vitest";
import { type DaemonStatus, statusText } from "./status.js";

const status: DaemonStatus = {
  up: true,
  stopping: false,
  pid: 4711,
  version: "0.1.0",
  build: "b",
  node: "20",
  started_at: "",
  uptime_ms: 125_000,
  socket: "/run/daemon.sock",
  log: null,
  lost_log_lines: 0,
  at_work: 0,
  served: 12,
  on_demand: true,
  idle_timeout_ms: 300_000,
  held_by: [],
  background: true,
  service: null,
  url: null,
  memory_bytes: 61 << 20,
  pool: { warm: 3, in_use: 0, min: 3, max: 5, taken: 0, missed: 0, shapes: [] },
};

it("the status of a daemon with hundreds of sandboxes stays a few short lines", () => {
  const held_by = Array.from({ length: 400 }, (_, index) => `sandbox s${index}`);
  const lines = statusText({ ...status, held_by }).split("\n");
  expect(lines.length).toBeLessThan(10);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(160);
  expect(lines.join("\n")).toContain("held by sandbox s0, sandbox s1, sandbox s2, sandbox s3, sandbox s4 and 395 more");
  expect(statusText({ ...status, held_by: ["sandbox web"] })).toContain("; held by sandbox web\n");
});
