import { describe, expect, it } from "vitest";
import { OutputBudget } from "../../api/limits/output-budget.js";
import { EventHistory } from "./event-history.js";

const message = (id: number, text = "") => ({ jsonrpc: "2.0" as const, id, result: { text } });

const budget = (bytes: number) => new OutputBudget({ outputBytes: bytes, callerOutputBytes: bytes });
const historyIn = (room: OutputBudget) => new EventHistory(() => room.open("key:one"));

async function replayed(history: EventHistory, last: string) {
  const sent: unknown[] = [];
  const stream = await history.replayEventsAfter(last, { send: async (_, one) => void sent.push(one) });
  return { stream, sent };
}

describe("what a session's streams have carried", () => {
  it("can be had again from any event on, of that stream alone", async () => {
    const history = historyIn(budget(1 << 20));
    const first = await history.storeEvent("one", message(1));
    await history.storeEvent("two", message(2));
    await history.storeEvent("one", message(3));
    expect(await replayed(history, first)).toEqual({ stream: "one", sent: [message(3)] });
    expect(await history.getStreamIdForEventId(first)).toBe("one");
  });

  it("is bounded: what is too old is not kept, and nothing is made up for it", async () => {
    const history = historyIn(budget(1 << 20));
    const first = await history.storeEvent("one", message(1));
    for (let n = 2; n < 12; n++) await history.storeEvent("one", message(n, "x".repeat(100 << 10)));
    expect(await history.getStreamIdForEventId(first)).toBeUndefined();
    expect(await replayed(history, first)).toEqual({ stream: "", sent: [] });
    expect(await replayed(history, "no-such-event")).toEqual({ stream: "", sent: [] });
  });

  it("takes its room of what answers may hold, and gives it back", async () => {
    const room = budget(1000);
    const history = historyIn(room);
    const first = await history.storeEvent("one", message(1, "x".repeat(600)));
    const held = room.heldBytes;
    expect(held).toBeGreaterThan(600);
    const second = await history.storeEvent("one", message(2, "x".repeat(600)));
    expect(room.heldBytes).toBe(held);
    expect(await history.getStreamIdForEventId(first)).toBe("one");
    expect(await history.getStreamIdForEventId(second)).toBeUndefined();
    history.close();
    expect(room.heldBytes).toBe(0);
    await history.storeEvent("one", message(3));
    expect(room.heldBytes).toBe(0);
  });

  it("of one session is less than a large answer", async () => {
    const room = budget(64 << 20);
    const history = historyIn(room);
    await history.storeEvent("one", message(1, "x".repeat(1 << 20)));
    expect(room.heldBytes).toBe(0);
    for (let n = 2; n < 30; n++) await history.storeEvent("one", message(n, "x".repeat(100 << 10)));
    expect(room.heldBytes).toBeLessThanOrEqual(512 << 10);
  });
});
