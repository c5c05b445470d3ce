import { describe, expect, it } from "vitest";
import { parseSnapshotRecord } from "./record.js";

const moment = { wallMs: 1, bootMs: 1, bootId: "b" };
const sandbox = {
  version: 1,
  id: "box.1",
  name: "box",
  created: moment,
  ttlFrom: moment,
  policy: { fs: {}, net: {}, proc: {}, resources: {} },
  image: { source: { kind: "host" } },
  publish: [],
  origins: {},
};
const record = { version: 1, id: "s.1", name: "s", owner: null, createdAtMs: 5, backend: "linux", bytes: 3, sandbox };
const parse = (changes: object) => () => parseSnapshotRecord(JSON.stringify({ ...record, ...changes }), "s");

describe("the record of a snapshot", () => {
  it("is read with its sandbox's", () => {
    expect(parse({})()).toMatchObject({ name: "s", bytes: 3, sandbox: { name: "box", id: "box.1" } });
  });

  it.each([
    ["another version", { version: 2 }, /version/],
    ["another name", { name: "t" }, /about another snapshot/],
    ["no time", { createdAtMs: null }, /parts are missing/],
    ["neither memory nor none", { memory: "some" }, /whether it has memory/],
    ["no sandbox", { sandbox: null }, /what sandbox/],
    ["a sandbox without a policy", { sandbox: { ...sandbox, policy: {} } }, /policy is incomplete/],
  ])("with %s is refused, and says how to go on", (_, changes, message) => {
    expect(parse(changes)).toThrow(expect.objectContaining({ message: expect.stringMatching(message) }));
    expect(parse(changes)).toThrow(expect.objectContaining({ hint: expect.stringContaining("remove") }));
  });

  it("that is no JSON is refused", () => {
    expect(() => parseSnapshotRecord("{", "s")).toThrow(/not JSON/);
  });
});
