import { describe, expect, it } from "vitest";
import { manualPages } from "./manual.js";
import { optionsOf } from "./parse-options.js";
import { shownVerbs, verbs } from "./verbs.js";

const pages = new Map(manualPages().map(({ file, text }) => [file, text]));

describe("the manual", () => {
  it("has a page for each verb that people type, and one for all", () => {
    const expected = shownVerbs.map(({ name }) => `agentkernel-${name.replaceAll(" ", "-")}.1`);
    expect([...pages.keys()]).toEqual(["agentkernel.1", ...new Set(expected)]);
    const hidden = verbs.filter((verb) => verb.hidden === true);
    expect(hidden.some(({ name }) => pages.has(`agentkernel-${name}.1`))).toBe(false);
  });

  it.each(shownVerbs)("says of $name what its help says", (verb) => {
    const text = pages.get(`agentkernel-${verb.name.replaceAll(" ", "-")}.1`) ?? "";
    for (const { long } of optionsOf(verb)) expect(text).toContain(`\\-\\-${long.replaceAll("-", "\\-")}`);
    expect(text).toContain(".SH EXAMPLES");
  });

  it("has no line that a formatter would take for a request by mistake", () => {
    const requests = /^\.(TH|SH|TP|B|BR|nf|fi)( |$)/;
    const lines = [...pages.values()].flatMap((text) => text.split("\n"));
    expect(lines.filter((line) => /^[.']/.test(line) && !requests.test(line))).toEqual([]);
    expect(lines.filter((line) => /[^\\]-/.test(line))).toEqual([]);
  });
});
