import { describe, expect, it } from "vitest";
import { RequestsAtWork } from "./requests-at-work.js";

describe("a request at work", () => {
  it("keeps its id until it is left and nothing is done for it any more", async () => {
    const atWork = new RequestsAtWork();
    let finish: () => void = () => {};
    expect(atWork.take(1)).toBe(true);
    expect(atWork.take(1)).toBe(false);
    expect(atWork.take("1")).toBe(true);
    const work = () =>
      new Promise<void>((resolve) => {
        finish = resolve;
      });
    const working = atWork.during(1, () => {}, work);
    atWork.leave(1);
    expect(atWork.take(1)).toBe(false);
    finish();
    await working;
    expect(atWork.take(1)).toBe(true);
  });

  it("gives back what its answer held when that was written, or at once where none will be", async () => {
    const atWork = new RequestsAtWork();
    let given = 0;
    const giveBack = () => void given++;
    atWork.take(1);
    await atWork.during(1, giveBack, async () => {});
    expect(given).toBe(0);
    const written = atWork.leave(1);
    expect(given).toBe(0);
    written();
    expect(given).toBe(1);
    atWork.take(2);
    const failing = atWork.during(2, giveBack, () => Promise.reject(new Error("failed")));
    atWork.leave(2)();
    await expect(failing).rejects.toThrow("failed");
    expect(given).toBe(2);
  });
});
