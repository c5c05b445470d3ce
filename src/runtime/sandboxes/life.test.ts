import { describe, expect, test } from "vitest";
import { Activity } from "./activity.js";
import type { Moment } from "./clock.js";
import { Lives, type Mortal, REBOOT_GRACE_MS, ttlLeftMs } from "./life.js";

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

function moment(wallMs: number, bootMs: number, bootId = "one"): Moment {
  return { wallMs, bootMs, bootId };
}

describe("what is left of a time to live", () => {
  const made = moment(1_000_000, 5000);

  test("goes down as time passes", () => {
    const now = moment(1_000_000 + HOUR_MS, 5000 + HOUR_MS);
    expect(ttlLeftMs(3 * HOUR_MS, made, now, made)).toBe(2 * HOUR_MS);
    expect(ttlLeftMs(HOUR_MS, made, now, made)).toBe(0);
  });

  test.each([YEAR_MS, -YEAR_MS])("is the same when the clock is set by %d ms", (jumpMs) => {
    const now = moment(1_000_000 + jumpMs, 5000 + 60_000);
    expect(ttlLeftMs(HOUR_MS, made, now, made)).toBe(HOUR_MS - 60_000);
  });

  test("counts the time that the machine was off", () => {
    const now = moment(1_000_000 + 2 * HOUR_MS, 100, "two");
    expect(ttlLeftMs(3 * HOUR_MS, made, now, now)).toBe(HOUR_MS);
  });

  test("is never nothing in the first minutes after a reboot, when the clock may be wrong", () => {
    const since = moment(1_000_000 + YEAR_MS, 100, "two");
    expect(ttlLeftMs(HOUR_MS, made, since, since)).toBe(REBOOT_GRACE_MS);
    const later = moment(1_000_000 + YEAR_MS, 100 + REBOOT_GRACE_MS, "two");
    expect(ttlLeftMs(HOUR_MS, made, later, since)).toBe(0);
  });

  test("is whole where the clock was set back over a reboot", () => {
    const now = moment(0, 100 + 2 * REBOOT_GRACE_MS, "two");
    expect(ttlLeftMs(HOUR_MS, made, now, moment(0, 100, "two"))).toBe(HOUR_MS);
  });
});

describe("activity", () => {
  function activity() {
    let now = moment(0, 0);
    let isQuiet = true;
    const watched = new Activity({ clock: { now: () => now }, isQuiet: () => isQuiet, onChange: () => {} });
    return {
      watched,
      pass: (ms: number) => {
        now = moment(now.wallMs - YEAR_MS, now.bootMs + ms);
      },
      setQuiet: (value: boolean) => {
        isQuiet = value;
        watched.note();
      },
    };
  }

  test("is idle from when the last one who used it had gone, whatever the clock is set to", () => {
    const { watched, pass } = activity();
    const [one, other] = [watched.use(), watched.use()];
    pass(1000);
    one();
    one();
    expect(watched.idleMs()).toBeNull();
    other();
    pass(500);
    expect(watched.idleMs()).toBe(500);
    watched.note();
    expect(watched.idleMs()).toBe(500);
    watched.use();
    expect(watched.idleMs()).toBeNull();
  });

  test("is not idle while a command runs", () => {
    const { watched, pass, setQuiet } = activity();
    watched.note();
    setQuiet(false);
    pass(1000);
    expect(watched.idleMs()).toBeNull();
    setQuiet(true);
    pass(10);
    expect(watched.idleMs()).toBe(10);
  });
});

describe("lives", () => {
  function mortal(ttlLeft: number | null, idleLeft: number | null, done: (what: string) => void): Mortal {
    return {
      name: "box",
      summary: () => ({ ttlLeftMs: ttlLeft }),
      idleLeftMs: () => idleLeft,
      stopIfIdle: async () => done("stopped"),
      remove: async ({ force }) => done(`removed ${force}`),
    };
  }

  async function endOf(ttlLeft: number | null, idleLeft: number | null): Promise<string> {
    let there = true;
    return await new Promise((resolve) => {
      const box = mortal(ttlLeft, idleLeft, (what) => {
        there = false;
        resolve(what);
      });
      new Lives({ sandboxes: () => (there ? [box] : []), say: () => {} }).look();
    });
  }

  test("one whose time has run out is removed, whatever it does", async () => {
    expect(await endOf(0, null)).toBe("removed true");
  });

  test("one that was idle for too long is stopped", async () => {
    expect(await endOf(HOUR_MS, 0)).toBe("stopped");
  });

  test("the one that ends first is waited for", async () => {
    let left = 20;
    let there = true;
    const said = await new Promise((resolve) => {
      const end = (what: string) => {
        there = false;
        resolve(what);
      };
      const box = { ...mortal(null, null, end), summary: () => ({ ttlLeftMs: left }) };
      new Lives({ sandboxes: () => (there ? [box] : []), say: () => {} }).look();
      left = 0;
    });
    expect(said).toBe("removed true");
  });

  test("one whose end changes nothing holds up nobody", async () => {
    let ends = 0;
    const box = mortal(0, null, () => ends++);
    const lives = new Lives({ sandboxes: () => [box], say: () => {} });
    lives.look();
    await new Promise((resolve) => setImmediate(resolve));
    lives.close();
    expect(ends).toBe(1);
  });
});
