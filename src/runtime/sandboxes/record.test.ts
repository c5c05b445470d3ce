import { describe, expect, test } from "vitest";
import { resolve } from "../../policy/resolve.js";
import { parseRecord } from "./record.js";
import { migrations, RECORD_VERSION } from "./record-versions.js";

const { policy, origins } = resolve({});
const moment = { wallMs: 1, bootMs: 1, bootId: "b" };
const record = {
  version: RECORD_VERSION,
  id: "box.123456",
  name: "box",
  owner: null,
  created: moment,
  hasRun: false,
  ttlMs: null,
  ttlFrom: moment,
  idleTimeoutMs: null,
  policy,
  policyVersion: 1,
  origins,
  image: { name: "host", why: "", digest: null, source: { kind: "host" }, defaults: null, stored: null },
  projectDir: null,
  homeDir: null,
  workdir: null,
  publish: [],
  audit: {},
  auditSetting: null,
};

function parse(fields: object): unknown {
  return parseRecord(JSON.stringify({ ...record, ...fields }), "box");
}

describe("the record of a sandbox", () => {
  test("is read as it was written", () => {
    expect(parse({})).toEqual(JSON.parse(JSON.stringify(record)));
  });

  test("of a newer version is refused with what to do", () => {
    expect(() => parse({ version: RECORD_VERSION + 1 })).toThrow(
      expect.objectContaining({ code: "unsupported", hint: expect.stringContaining("remove --force") }),
    );
  });

  test("of each earlier version has a way to the present one", () => {
    expect([...migrations.keys()]).toEqual(Array.from({ length: RECORD_VERSION - 1 }, (_, at) => at + 1));
  });

  test("of a build that did not know a limit yet has it at its default", () => {
    const { openFiles: _, ...known } = policy.resources;
    expect(parse({ policy: { ...policy, resources: { ...known, pids: 7 } } })).toMatchObject({
      policy: { resources: { pids: 7, openFiles: policy.resources.openFiles } },
    });
  });

  test.each([
    ["it has no version", { version: "1" }],
    ["it is about another sandbox", { name: "other" }],
    ["it has no id", { id: "" }],
    ["it does not say when the sandbox was made", { created: {} }],
    ["it does not say when the sandbox was made", { ttlFrom: null }],
    ["its policy is incomplete", { policy: { net: {} } }],
    ["it names no image", { image: null }],
    ["parts of it are missing", { publish: null }],
  ])("is refused where %s", (why, fields) => {
    expect(() => parse(fields)).toThrow(why);
  });

  test.each(["", "[]", "nul", "{"])("is refused where it is %j", (text) => {
    expect(() => parseRecord(text, "box")).toThrow(/^the record of the sandbox box cannot be used/);
  });
});
