import { describe, expect, it } from "vitest";
import { parseProbeLines } from "./probe-lines.js";

const line = (fields: object) =>
  `${JSON.stringify({ layer: "userns", ok: true, detail: "made one", ms: 1.5, ...fields })}\n`;

describe("parseProbeLines", () => {
  it("reads a layer that works", () => {
    const check = parseProbeLines(line({})).get("userns");
    expect(check).toEqual({ name: "userns", state: "works", detail: "made one", nextStep: null, ms: 1.5 });
  });

  it("takes the hint of a failing layer as the next step", () => {
    const check = parseProbeLines(line({ ok: false, hint: "load the module" })).get("userns");
    expect(check).toMatchObject({ state: "fails", nextStep: "load the module" });
  });

  it("takes a layer that does not work and has no hint as not needed", () => {
    const check = parseProbeLines(line({ layer: "idmap", ok: false })).get("idmap");
    expect(check).toMatchObject({ state: "not-needed", nextStep: null });
  });

  it.each([
    ["no JSON", "userns works\n"],
    ["half a line", line({}).slice(0, 20)],
    ["no object", "null\n"],
    ["an unknown layer", line({ layer: "moat" })],
    ["a name from the prototype", line({ layer: "constructor" })],
    ["a wrong ok", line({ ok: "true" })],
    ["a wrong detail", line({ detail: 3 })],
    ["a wrong hint", line({ ok: false, hint: null })],
    ["a wrong duration", line({ ms: -1 })],
    ["a missing duration", line({ ms: undefined })],
    ["a layer twice", line({}) + line({})],
  ])("refuses %s", (_, text) => {
    expect(() => parseProbeLines(text)).toThrow(expect.objectContaining({ code: "internal" }));
  });
});
