/** The watch over promises in figures: red for what is really beyond its limit, never for a machine that is busy. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { figures } from "../../bench/figures/index.mjs";
import { type Answer, guarded, judge, verdictOf } from "../../bench/guard.mjs";

const limit = { ratio: 1 };
const steady = { p50Ms: 10, p95Ms: 12 };
const said = (...answers: Answer[]) =>
  verdictOf(
    async () => answers.shift() ?? "within",
    () => true,
  );

describe("the watch over promises", () => {
  it("allows a quarter more than the limit", () => {
    expect(judge({ limit, result: { ratio: 1.24, reference: steady } })).toBe("within");
    expect(judge({ limit, result: { ratio: 1.26, reference: steady } })).toBe("beyond");
    expect(judge({ limit: { mib: 4 }, result: { mib: 6 } })).toBe("beyond");
  });

  it("says nothing of a try in which the reference was unsteady", () => {
    expect(judge({ limit, result: { ratio: 9, reference: { p50Ms: 10, p95Ms: 30 } } })).toBe("unsteady");
  });

  it("is red after three tries beyond the limit, and only then", async () => {
    expect(await said("beyond", "beyond", "beyond")).toBe("beyond");
    expect(await said("beyond", "beyond", "within")).toBe("within");
    expect(await said("beyond", "unsteady", "beyond")).toBe("unsteady");
    expect(
      await verdictOf(
        async () => "beyond",
        () => false,
      ),
    ).toBe("unsteady");
  });

  it.each(guarded)("watches %s, which SPECIFICATION.md says is met", (name) => {
    expect(figures.find((figure) => figure.name === name)?.limit).toBeTruthy();
    expect(readFileSync("SPECIFICATION.md", "utf8")).toMatch(new RegExp(`\\| bench \`${name}\` \\| met \\|`));
  });
});
