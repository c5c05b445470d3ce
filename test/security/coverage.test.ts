import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { repository } from "../support/repository.js";
import { citations, citationsElsewhere, citationsIn, notOn, uncovered } from "./coverage.js";
import { exemptions } from "./elsewhere/exemptions.js";
import { attacks } from "./elsewhere/table.js";
import { MOST_PENDING, pending } from "./pending.js";
import { threats } from "./threats.js";

const ids = threats.map(({ id }) => id);
const pendingIds = pending.map(({ id }) => id);
const cited = [...citations(join(repository, "test")), ...citationsElsewhere()];

describe("every threat is attacked by a test, or its reason is written down", () => {
  it("knows the threats once each", () => {
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(["F1", "F8", "N1", "N9", "P1", "P8", "G1", "G3", "A1", "A8"]));
    expect(ids).toHaveLength(50);
  });

  it("no id and backend is without both", () => {
    expect(uncovered(ids, cited, pendingIds)).toEqual([]);
  });

  it("no test cites an id that does not exist", () => {
    expect(cited.filter(({ id }) => !ids.includes(id))).toEqual([]);
  });

  it("the list of what is left for later only shrinks", () => {
    expect(pending.length).toBeLessThanOrEqual(MOST_PENDING);
    expect(pendingIds.filter((id) => !ids.includes(id))).toEqual([]);
    expect(new Set(pendingIds).size).toBe(pendingIds.length);
    expect([...pending, ...notOn, ...exemptions].filter(({ reason }) => reason.trim() === "")).toEqual([]);
  });

  it("the table for other backends names files of the suite, and threats that they attack", () => {
    for (const { id, file } of attacks) {
      expect(cited.map((one) => `${one.id} ${one.file}`)).toContain(`${id} security/${file}.test.ts`);
    }
    const missing = exemptions.filter(({ file }) => !existsSync(join(repository, "test/security", `${file}.test.ts`)));
    expect(missing).toEqual([]);
  });

  it("nothing is left for later that a test attacks already", () => {
    expect(pendingIds.filter((id) => cited.some((one) => one.id === id))).toEqual([]);
  });
});

describe("a citation", () => {
  it("is the title of a describe that starts with the id", () => {
    const text = `
describe("F1 reads", () => {});
describe.each(actors)("P2 as $name", () => {});
describe("G1 on docker breaks frames", () => {});
describe("reads F3", () => {});
// F4 in a comment
it("F7 in a test's own title", () => {});
`;
    expect(citationsIn(text, "x.test.ts").map(({ id, backend }) => `${id} ${backend}`)).toEqual([
      "F1 linux",
      "P2 linux",
      "G1 docker",
    ]);
  });

  it("that is missing is noticed", () => {
    const found = uncovered(["F1", "F2"], citationsIn('describe("F1 x", () => {})', "x"), []);
    expect(found.filter(({ backend }) => backend === "linux")).toEqual([{ id: "F2", backend: "linux" }]);
    expect(found.map(({ id, backend }) => `${id} ${backend}`)).toContain("F1 docker");
    expect(uncovered(["F2"], [], ["F2"])).toEqual([]);
  });
});
