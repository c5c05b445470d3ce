import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { InboundStream } from "./inbound-stream.js";

function stream(heldBackBytes: number): { readonly granted: number[]; send(bytes: number): void } {
  const granted: number[] = [];
  const inbound = new InboundStream({
    windowBytes: 1000,
    heldBackBytes,
    lease: { hold: () => null },
    grant: (bytes) => granted.push(bytes),
    sinkFault: (error) => {
      throw error;
    },
  });
  inbound.attach({ write: (_, done) => done(), end: () => {} });
  return {
    granted,
    send: (bytes) => {
      inbound.reserve(bytes);
      inbound.push(Buffer.alloc(bytes));
    },
  };
}

describe("what is granted again", () => {
  it("is all that was taken, once it is half a window", () => {
    const { granted, send } = stream(0);
    for (let count = 0; count < 12; count++) send(100);
    expect(granted).toEqual([500, 500]);
  });

  it("leaves what came last, where that is held back, and the sender can always go on", () => {
    const { granted, send } = stream(250);
    let sent = 0;
    for (let count = 0; count < 100; count++) {
      send(100);
      sent += 100;
      const unacknowledged = sent - granted.reduce((sum, bytes) => sum + bytes, 0);
      expect(unacknowledged).toBeGreaterThanOrEqual(Math.min(sent, 250));
      expect(unacknowledged).toBeLessThan(1000);
    }
  });
});
