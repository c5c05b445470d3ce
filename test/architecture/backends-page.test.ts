/** What a backend lacks is said in one place, its own list, and told in docs/backends.md. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { candidateNames, candidateOf } from "../../src/runtime/backends/candidates.js";

const page = readFileSync("docs/backends.md", "utf8");
const table = page.slice(page.indexOf("## What each lacks"), page.indexOf("## Docker and Podman"));

describe.each(candidateNames.filter((name) => name !== "apple"))("what %s lacks", (name) => {
  it("has a reason each, and a row of the page's table that names the backend", async () => {
    const lacks = (await candidateOf(name))?.lacks ?? [];
    expect(lacks.filter(({ reason }) => reason.trim() === "")).toEqual([]);
    const isTold = (capability: string) =>
      table.split("\n").some((line) => line.includes(`\`${capability}\``) && line.split("|")[2]?.includes(name));
    expect(lacks.map(({ capability }) => capability).filter((capability) => !isTold(capability))).toEqual([]);
  });

  it("is all that the table says it lacks", async () => {
    const lacks = new Set((await candidateOf(name))?.lacks.map(({ capability }) => capability));
    const rows = table.split("\n").filter((line) => line.startsWith("| `") && line.split("|")[2]?.includes(name));
    expect(rows.map((line) => /`([^`]+)`/.exec(line)?.[1] ?? "").filter((one) => !lacks.has(one))).toEqual([]);
  });
});
