import { describe, expect, it } from "vitest";
import {
  ceilingColumn,
  ceilingText,
  isImageWithin,
  type KeyCeiling,
  readCeiling,
  smallCeiling,
  whyInvalidImagePattern,
} from "./key-ceiling.js";

const wide: KeyCeiling = {
  ...smallCeiling,
  network: "allowlist",
  domains: ["a.example", "*.b.example"],
  images: ["python", "host"],
  backends: ["gvisor", "docker"],
  dirs: ["/srv/a", "/srv/b"],
};

describe("a ceiling is told to people", () => {
  it("in one line", () => {
    expect(ceilingText(smallCeiling)).toMatch(
      /cores.*, no network, images of public registries, backends as strong as yours, no directory of this machine$/,
    );
    expect(ceilingText(wide)).toMatch(
      /, the network at a\.example, \*\.b\.example, the images python, host, the backends gvisor, docker, copies of \/srv\/a, \/srv\/b$/,
    );
    expect(ceilingText({ ...wide, network: "on" })).toContain(", the public network, ");
  });

  it("in a column", () => {
    const figures = /^\d+ cores, .*, /;
    expect(ceilingColumn(smallCeiling)).toMatch(new RegExp(`${figures.source}no network$`));
    expect(ceilingColumn(wide)).toMatch(new RegExp(`${figures.source}some domains, 2 directories$`));
    expect(ceilingColumn({ ...wide, network: "on", dirs: ["/srv"] })).toMatch(/, network, 1 directory$/);
  });
});

describe("a pattern for images", () => {
  it.each(["host", "python", "python:3", "ghcr.io/acme/*", "localhost:5000/*", "acme/*"])("may be %s", (text) =>
    expect(whyInvalidImagePattern(text)).toBeNull(),
  );

  it.each(["", "*", "-x", "acme*", "acme/*/x", "ghcr.io/acme/a*"])("may not be %j, for a reason", (text) =>
    expect(whyInvalidImagePattern(text)).toMatch(/./),
  );

  it.each([
    ["host", ["python", "host"], true],
    ["host", ["hosts", "host/*"], false],
    ["python", ["host"], false],
    ["python", ["host", "python"], true],
    ["python", ["python", "host"], true],
    ["localhost:5000/a", ["localhost:5000/a"], true],
    ["localhost:5000/a:1", ["localhost:5000/a"], true],
    ["localhost:5000/a", ["localhost:5001/a"], false],
    ["other.example/library/python", ["python"], false],
  ] as const)("%s within %j: %s", (image, patterns, expected) => expect(isImageWithin(image, patterns)).toBe(expected));
});

it.each([
  { network: 7 },
  { network: ["on"] },
  { allowed_domains: [7] },
  { allowed_domains: "a.example" },
  { vcpus: [2] },
  { vcpus: null },
  { dirs: ["/a\0b"] },
  { backends: [["gvisor"]] },
])("%j is no ceiling", (value) => expect(readCeiling(value)).toBeNull());
