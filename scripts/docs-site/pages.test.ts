import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { sidebar, siteName, sitePage, sitePages } from "./pages.mjs";

describe("a page for the site", () => {
  const pages = ["docs/a.md", "docs/b.md", "README.md", "sdk/go/README.md"];
  const made = (text: string) => sitePage("docs/a.md", text, pages);

  it("keeps links to pages, by their names on the site", () => {
    expect(made("[b](b.md#x), [home](../README.md), [go](../sdk/go/README.md)")).toBe(
      "[b](b.md#x), [home](../index.md), [go](../sdk/go/index.md)",
    );
  });

  it("keeps addresses, anchors and pictures", () => {
    const text = "[x](https://example.com) [y](#y) ![z](pictures/z.svg)";
    expect(made(text)).toBe(text);
  });

  it("shows the path of a file that is no page, in place of a link", () => {
    expect(made("see [the table](../src/cli/verbs.ts)")).toBe("see `src/cli/verbs.ts`");
  });

  it("has no comments, and leaves blocks alone", () => {
    expect(made("a\n<!-- b -->\nc\n```\n[d](e.ts)\n```\n")).toBe("a\nc\n```\n[d](e.ts)\n```\n");
  });

  it("is an index where it is a README", () => {
    expect(["README.md", "sdk/go/README.md", "docs/README-first.md"].map(siteName)).toEqual([
      "index.md",
      "sdk/go/index.md",
      "docs/README-first.md",
    ]);
  });
});

describe("the sidebar", () => {
  it("has a group for each heading, and the first link of each line", () => {
    expect(sidebar("# All\n\n## A b\n- [X](x.md), [Y](y.md): z\n- [S](../sdk/go/README.md)\n")).toEqual([
      {
        text: "A b",
        collapsed: false,
        items: [
          { text: "X", link: "/docs/x" },
          { text: "S", link: "/sdk/go/" },
        ],
      },
    ]);
  });

  it("leads to every page of docs but the records of decisions", () => {
    const links = sidebar(readFileSync("docs/pages.md", "utf8")).flatMap(({ items }) => items.map(({ link }) => link));
    const expected = sitePages(".")
      .filter((page) => page.startsWith("docs/") && !/^docs\/(pages\.md|decisions\/\d)/.test(page))
      .map((page) => `/${siteName(page).replace(/(index)?\.md$/, "")}`);
    expect(expected.length).toBeGreaterThan(20);
    expect(expected.filter((link) => !links.includes(link))).toEqual([]);
  });
});
