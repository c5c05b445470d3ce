import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { remarksNow } from "./once-a-day.js";

const HOUR_MS = 60 * 60 * 1000;
const noImage = "using this machine's own programs (image host): alpine:3.20 could not be had";
const noCgroup = "cgroup: no limit by cgroup on: memory";
const hidden = "2 files hidden, agentkernel policy explain lists them";
const tracked = "1 of them is tracked by git, so commands can read them in its history";
const live = "protected-paths: a live mount";

let homeDir = "";
beforeEach(() => {
  homeDir = mkdtempSync(join(tmpdir(), "agentkernel-remarks-"));
});
afterEach(() => rmSync(homeDir, { recursive: true }));

function place(choice?: string, cwd = "/app") {
  return { homeDir, cwd, env: choice === undefined ? {} : { AGENTKERNEL_REMARKS: choice } };
}

describe("remarks that come with every run", () => {
  it("are said once a day in a project, with the setting that ends them", () => {
    const now = Date.now();
    const all = [noImage, noCgroup, hidden, tracked];
    const first = remarksNow(all, place(), now);
    expect(first).toEqual(all.map((line) => `${line} (said once a day; AGENTKERNEL_REMARKS=never: not at all)`));
    expect(remarksNow(all, place(), now + HOUR_MS)).toEqual([]);
    expect(remarksNow([noImage], place(undefined, "/other"), now + HOUR_MS)).toHaveLength(1);
    expect(remarksNow([noImage], place(), now + 25 * HOUR_MS)).toHaveLength(1);
  });

  it("are said again when they say something else, or the clock was set back", () => {
    const now = Date.now();
    remarksNow([noImage], place(), now);
    expect(remarksNow([`${noImage}: denied`], place(), now)).toHaveLength(1);
    expect(remarksNow([hidden.replace("2", "3")], place(), now)).toHaveLength(1);
    expect(remarksNow([noImage], place(), now - HOUR_MS)).toHaveLength(1);
  });

  it("come always, or never, where that is set", () => {
    for (let times = 0; times < 2; times++) expect(remarksNow([noImage], place("always"))).toEqual([noImage]);
    expect(remarksNow([noImage, live], place("never"))).toEqual([live]);
    expect(() => remarksNow([noImage], place("seldom"))).toThrow(/AGENTKERNEL_REMARKS/);
  });

  it("are no others: what weakens this run is said with each", () => {
    for (let times = 0; times < 2; times++) expect(remarksNow([live], place())).toEqual([live]);
  });
});
