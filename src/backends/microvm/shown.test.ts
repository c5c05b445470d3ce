import { expect, it } from "vitest";
import type { CopiedView } from "../entry/views.js";
import { howShown } from "./shown.js";

const project: CopiedView = { source: "/p", target: "/workspace", readonly: false, isSynced: false };
const other: CopiedView = { source: "/d", target: "/data", readonly: true, isSynced: false };
const shape = (hasFuse: boolean) => ({ kernel: { hasFuse } });

it("shows a project without a copy where the machine can and its changes are not to be told", () => {
  const inside = { isInside: true, tracked: null };
  expect(howShown([project, other], shape(true), inside)).toEqual({ lazy: project, copied: [other], layers: [] });
  const copied = { lazy: null, copied: [project], layers: [] };
  expect(howShown([project], shape(true), { ...inside, isInside: false })).toEqual(copied);
  expect(howShown([project], shape(true), { ...inside, tracked: project })).toEqual(copied);
  expect(howShown([], shape(false), inside)).toEqual({ lazy: null, copied: [], layers: [] });
});

it("says aloud that a kernel without FUSE has the project copied", () => {
  const { lazy, copied, layers } = howShown([project], shape(false), { isInside: true, tracked: null });
  expect({ lazy, copied }).toEqual({ lazy: null, copied: [project] });
  expect(layers).toMatchObject([{ name: "project view", state: "partial", detail: expect.stringContaining("FUSE") }]);
});
