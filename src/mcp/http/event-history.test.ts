import { describe, expect, it } from "vitest";
import { EventHistory } from "./event-history.js";

const message = (id: number, text = "") => ({ jsonrpc: "2.0" as const, id, result: { text } });

async function replayed(history: EventHistory, last: string) {
  const sent: unknown[] = [];
  const stream = await history.replayEventsAfter(last, { send: async (_, one) => void sent.push(one) });
  return { stream, sent };
}

describe("what a session's streams have carried", () => {
  it("can be had again from any event on, of that stream alone", async () => {
    const history = new EventHistory();
    const first = await history.storeEvent("one", message(1));
    await history.storeEvent("two", message(2));
    await history.storeEvent("one", message(3));
    expect(await replayed(history, first)).toEqual({ stream: "one", sent: [message(3)] });
    expect(await history.getStreamIdForEventId(first)).toBe("one");
  });

  it("is bounded: what is too old is not kept, and nothing is made up for it", async () => {
    const history = new EventHistory();
    const first = await history.storeEvent("one", message(1));
    for (let n = 2; n < 12; n++) await history.storeEvent("one", message(n, "x".repeat(1 << 20)));
    expect(await history.getStreamIdForEventId(first)).toBeUndefined();
    expect(await replayed(history, first)).toEqual({ stream: "", sent: [] });
    expect(await replayed(history, "no-such-event")).toEqual({ stream: "", sent: [] });
  });
});
