import { expect, test } from "vitest";
import type { HolderState } from "../core/process-mark.js";
import { Patience } from "./patience.js";

const LOOK_MS = 10;

/** When it was over for a holder that is looked at all the time; null: not within a minute. */
function overAfterMs(seenAt: (ms: number) => { holder: string; headWrittenMs: number; state: HolderState }) {
  const patience = new Patience();
  for (let ms = 0; ms <= 60_000; ms += LOOK_MS) if (patience.isOver(seenAt(ms), ms)) return ms;
  return null;
}

test("ends for one that holds the turn and writes nothing, sooner where it is stopped", () => {
  const of = (state: HolderState) => overAfterMs(() => ({ holder: "a", headWrittenMs: 5, state }));
  expect(of("stopped")).toBe(2000 + LOOK_MS);
  expect(of("unknown")).toBe(2000 + LOOK_MS);
  expect(of("running")).toBe(10_000 + LOOK_MS);
});

test("does not end in a crowd in which the turn goes round, however long that takes", () => {
  const state = "running";
  expect(overAfterMs((ms) => ({ holder: `w${Math.floor(ms / 1000) % 20}`, headWrittenMs: 5, state }))).toBeNull();
  expect(overAfterMs((ms) => ({ holder: "a", headWrittenMs: Math.floor(ms / 1000), state }))).toBeNull();
});

test("does not count the time in which nobody looked", () => {
  const patience = new Patience();
  const seen = { holder: "a", headWrittenMs: 5, state: "stopped" } as const;
  expect(patience.isOver(seen, 0)).toBe(false);
  expect(patience.isOver(seen, 3_600_000)).toBe(false);
});
