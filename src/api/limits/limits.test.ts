import { mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { localUser, noQuotas } from "../auth/caller.js";
import { CpuLedger } from "./cpu-ledger.js";
import { FairQueue } from "./fair-queue.js";
import { OutputBudget } from "./output-budget.js";
import { Places } from "./places.js";
import { RateLimiter } from "./rate.js";
import { SandboxQuota } from "./sandbox-quota.js";

const stranger = { id: "key:a", scopes: [], isTrusted: false, sandboxes: null, quotas: noQuotas, ceiling: null };

const forever = new AbortController().signal;

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
}

describe("places for commands", () => {
  it("go to each caller in turn, however many requests one of them has", async () => {
    const queue = new FairQueue({ places: 2, mostWaiting: 1000 });
    const order: string[] = [];
    const leaves: (() => void)[] = [];
    const come = (caller: string) =>
      void queue.enter(caller, null, forever).then(({ leave }) => {
        order.push(caller);
        leaves.push(leave);
      });
    for (let count = 0; count < 450; count++) come("large");
    for (let count = 0; count < 50; count++) come("small");
    await settled();
    while (leaves.length > 0) {
      leaves.shift()?.();
      await settled();
    }
    expect(order).toHaveLength(500);
    // The small one's last request is served long before the large one's.
    expect(order.lastIndexOf("small")).toBeLessThan(110);
    expect(queue.running).toBe(0);
  });

  it("are never more than there are, nor more than a caller's own limit", async () => {
    const queue = new FairQueue({ places: 3, mostWaiting: 10 });
    const first = await queue.enter("a", 1, forever);
    const second = queue.enter("a", 1, forever);
    await queue.enter("b", null, forever);
    await settled();
    expect([queue.running, queue.waiting]).toEqual([2, 1]);
    first.leave();
    await second;
    expect([queue.running, queue.waiting]).toEqual([2, 0]);
  });

  it("are not waited for by those who have gone, nor by more than may wait", async () => {
    const queue = new FairQueue({ places: 1, mostWaiting: 1 });
    const { leave } = await queue.enter("a", null, forever);
    const gone = new AbortController();
    const waiting = queue.enter("a", null, gone.signal);
    await expect(queue.enter("a", null, forever)).rejects.toMatchObject({ code: "too_many_requests" });
    gone.abort();
    await expect(waiting).rejects.toThrow();
    leave();
    leave();
    expect([queue.running, queue.waiting]).toEqual([0, 0]);
    await queue.enter("b", null, forever);
  });
});

describe("a command that nobody waits for", () => {
  it("counts for its caller's limit, and keeps no place of others", async () => {
    const queue = new FairQueue({ places: 1, mostWaiting: 10 });
    const detached = await queue.enter("a", 2, forever);
    detached.leaveAlone();
    const second = await queue.enter("a", 2, forever);
    const third = queue.enter("a", 2, forever);
    await settled();
    expect([queue.running, queue.waiting]).toEqual([1, 1]);
    second.leaveAlone();
    await expect(queue.enter("a", 2, forever)).rejects.toMatchObject({ code: "too_many_requests" });
    (await queue.enter("b", null, forever)).leave();
    detached.leave();
    detached.leave();
    (await third).leave();
    second.leave();
    expect([queue.running, queue.waiting]).toEqual([0, 0]);
  });

  it("is charged when it ends, and its caller refused then", async () => {
    const places = new Places({ places: 1, mostWaiting: 1, sandboxesOfCaller: 1 });
    const caller = { ...stranger, quotas: { ...noQuotas, cpuSecondsPerHour: 1 } };
    const usage = { userUs: 600_000, systemUs: 400_000, maxRssKiB: 0 };
    places.charge(caller, { exited: Promise.resolve({ code: null, signal: 9, usage }) });
    await settled();
    await expect(places.at(caller, forever, async () => {})).rejects.toMatchObject({ code: "too_many_requests" });
  });
});

describe("sandboxes", () => {
  it("are so many of one caller, those that are being made among them", () => {
    const quota = new SandboxQuota(2);
    const stay = [{ owner: "key:a" }, { owner: "key:b" }, { owner: null }];
    const back = quota.reserve(stranger, stay);
    expect(() => quota.reserve(stranger, stay)).toThrow(expect.objectContaining({ code: "resource_exhausted" }));
    back();
    back();
    quota.reserve(stranger, stay)();
    quota.reserve({ ...stranger, quotas: { ...noQuotas, sandboxes: 3 } }, stay);
    expect(() => quota.reserve({ ...localUser, quotas: { ...noQuotas, sandboxes: 1 } }, stay)).toThrow();
    quota.reserve(localUser, stay);
  });
});

describe("a rate", () => {
  it("lets a burst through, then as many as time allows, and says when to come again", () => {
    let now = 0;
    const rates = new RateLimiter(() => now);
    for (let count = 0; count < 10; count++) rates.take("a", 60);
    expect(() => rates.take("a", 60)).toThrow(expect.objectContaining({ details: { retry_after_s: 1 } }));
    rates.take("b", 60);
    now += 1000;
    rates.take("a", 60);
    expect(() => rates.take("a", 60)).toThrow();
    expect(() => rates.take("a", 1)).toThrow(expect.objectContaining({ details: { retry_after_s: 60 } }));
    rates.take("a", null);
  });

  it("counts what came in one request, and forgets no debt", () => {
    let now = 0;
    const rates = new RateLimiter(() => now);
    rates.take("a", 60);
    rates.owe("a", 60, 99);
    now += 61_000;
    for (let other = 0; other < 1100; other++) rates.take(`other ${other}`, 60);
    expect(() => rates.take("a", 60)).toThrow(expect.objectContaining({ details: { retry_after_s: 30 } }));
    now += 30_000;
    rates.take("a", 60);
  });
});

describe("an account of processor time", () => {
  it("is used up, and comes back after an hour", () => {
    let now = 1_000_000_000;
    const ledger = new CpuLedger({ now: () => now });
    ledger.add("a", 4_000_000);
    ledger.refuseBeyond("a", 5);
    ledger.add("a", 1_000_000);
    expect(() => ledger.refuseBeyond("a", 5)).toThrow(expect.objectContaining({ code: "too_many_requests" }));
    ledger.refuseBeyond("b", 5);
    ledger.refuseBeyond("a", null);
    now += 3_700_000;
    expect(ledger.usedSeconds("a")).toBe(0);
    ledger.refuseBeyond("a", 5);
  });

  it("goes on where the server before ended, and is not forgotten where it cannot be read", () => {
    const path = join(mkdtempSync(join(tmpdir(), "agentkernel-usage-")), "state", "usage.json");
    let now = 1_000_000_000;
    const first = new CpuLedger({ now: () => now, path, leftOut: "local" });
    first.add("key:a", 6_000_000);
    first.add("local", 9_000_000);
    first.save();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const next = new CpuLedger({ now: () => now, path });
    expect(() => next.refuseBeyond("key:a", 5)).toThrow(expect.objectContaining({ code: "too_many_requests" }));
    expect(next.usedSeconds("local")).toBe(0);
    now += 3_700_000;
    expect(new CpuLedger({ now: () => now, path }).usedSeconds("key:a")).toBe(0);
    for (const text of ["{", '{"version":2,"accounts":{}}', '{"version":1,"accounts":{"key:a":{"1":"much"}}}']) {
      writeFileSync(path, text);
      expect(() => new CpuLedger({ path })).toThrow(/no account of processor time/);
    }
  });
});

describe("memory for output", () => {
  it("is bounded for each caller and for all, and free again when answers are written", () => {
    const budget = new OutputBudget({ outputBytes: 150, callerOutputBytes: 100 });
    const [one, two] = [budget.open("a"), budget.open("a")];
    expect([one.claim(60), two.claim(41), two.claim(40)]).toEqual([true, false, true]);
    const other = budget.open("b");
    expect([other.claim(51), other.claim(50)]).toEqual([false, true]);
    one.release();
    one.release();
    expect(budget.heldBytes).toBe(90);
    two.release();
    other.release();
    expect(budget.heldBytes).toBe(0);
  });

  it("of a batch does not come back while the batch goes on", () => {
    const budget = new OutputBudget({ outputBytes: 1000, callerOutputBytes: 1000 });
    const share = { leftBytes: 100 };
    const first = budget.open("a", share);
    expect(first.claim(80)).toBe(true);
    first.release();
    expect(budget.open("a", share).claim(30)).toBe(false);
  });
});
