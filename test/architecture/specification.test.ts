import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Figure, figures } from "../../bench/figures/index.mjs";

interface Row {
  readonly promise: string;
  readonly most: string;
  readonly measuredBy: string;
  readonly state: string;
  readonly last: string;
}

/** The rows of the table whose first column is "promise". */
function promises(text: string): readonly Row[] {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line.startsWith("| promise |"));
  const end = lines.findIndex((line, index) => index > start && !line.startsWith("|"));
  return lines.slice(start + 2, end).map((line) => {
    const [promise = "", most = "", measuredBy = "", state = "", last = ""] = line
      .split("|")
      .slice(1)
      .map((cell) => cell.trim());
    return { promise, most, measuredBy, state, last };
  });
}

const benchName = (row: Row): string | null => /^bench `([^`]+)`/.exec(row.measuredBy)?.[1] ?? null;

/** What is wrong with a row, or null. */
function fault(row: Row): string | null {
  if (row.state.startsWith("pending")) {
    return /^pending: \S+ \S+/.test(row.state) ? null : "is pending without a reason";
  }
  if (row.state !== "met" && row.state !== "not met") return `has the unknown state "${row.state}"`;
  if (!/\d/.test(row.last)) return `is ${row.state}, but nobody says by which figure`;
  const bench = benchName(row);
  if (bench !== null) return figures.some(({ name }) => name === bench) ? null : `names no benchmark: ${bench}`;
  const file = /^test `([^`]+)`$/.exec(row.measuredBy)?.[1];
  if (file === undefined) return "names neither a benchmark nor a test";
  return existsSync(file) ? null : `names a test that does not exist: ${file}`;
}

function limitText({ limit }: Figure): string | null {
  if (limit === null) return null;
  const { ratio, mib, p50Ms } = limit;
  if (ratio !== undefined) return `${ratio} ×`;
  return mib === undefined ? `${p50Ms} ms` : `${mib} MiB`;
}

const page = readFileSync("SPECIFICATION.md", "utf8");
const rows = promises(page);

/** The product's own promises, none of which may be lost from the table. */
const promised = [
  "First command, cold",
  "First command, warm",
  "File write and exec",
  "microVM boot to guest",
  "microVM shutdown",
  "Proportional memory of an idle linux sandbox's own processes, ten alive",
  "Memory of a microVM beside its guest's own",
  "100 linux sandboxes started at once, until the last guest is ready",
  "100 microVMs at once",
  "Kernel of the microVM, compressed",
  "Base image",
  "wasm, cold",
  "wasm, pooled call",
];

describe("SPECIFICATION.md", () => {
  it("has promises", () => {
    expect(rows.length).toBeGreaterThan(figures.filter(({ limit }) => limit !== null).length);
  });

  it.each(promised)("promises what the product does: %s", (promise) => {
    expect(rows.map((row) => row.promise)).toContain(promise);
  });

  it.each(rows)("says how it knows: $promise", (row) => {
    expect(fault(row)).toBeNull();
  });

  it.each(figures.filter(({ limit }) => limit !== null))("states what the benchmark $name holds it to", (figure) => {
    const own = rows.filter((row) => benchName(row) === figure.name);
    expect(own.map((row) => row.most)).toContain(limitText(figure));
  });

  it.each(figures)("says how $name is measured", ({ name }) => {
    const [, told = ""] = page.split("## How each benchmark measures");
    expect(told).toContain(`\`${name}\``);
  });

  it("would be red for a row that nobody measures", () => {
    const row = { promise: "p", most: "1 ×", measuredBy: "bench `cold-run`", state: "met", last: "0.9 ×" };
    expect(fault(row)).toBeNull();
    expect(fault({ ...row, last: "" })).not.toBeNull();
    expect(fault({ ...row, measuredBy: "" })).not.toBeNull();
    expect(fault({ ...row, measuredBy: "bench `no-such`" })).not.toBeNull();
    expect(fault({ ...row, measuredBy: "test `test/no-such.test.ts`" })).not.toBeNull();
    expect(fault({ ...row, measuredBy: "test `test/architecture/specification.test.ts`" })).toBeNull();
    expect(fault({ ...row, state: "pending" })).not.toBeNull();
    expect(fault({ ...row, state: "pending: later" })).not.toBeNull();
    expect(fault({ ...row, state: "hopefully" })).not.toBeNull();
  });
});
