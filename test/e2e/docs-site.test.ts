/** The site of the documentation is built of the pages of the checkout, and its search finds them in a real browser. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sitePages } from "../../scripts/docs-site/pages.mjs";
import { chromium, HeadlessBrowser } from "../support/headless-browser.js";
import { repository } from "../support/repository.js";
import { testFolder } from "../support/test-folder.js";

const program = chromium();
const why = program === null ? " (skipped: no Chromium on the PATH; Debian's package is chromium)" : "";
const types: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".svg": "image/svg+xml",
};
const FIRST_RESULT = `document.querySelector(".VPLocalSearchBox .results .result")`;

describe.skipIf(program === null)(`the site of the documentation${why}`, () => {
  const site = join(testFolder(), "docs-site");
  let server: Server;
  let browser: HeadlessBrowser;
  let address = "";

  beforeAll(async () => {
    await promisify(execFile)(process.execPath, ["scripts/docs.mjs", "--out", site], { cwd: repository });
    server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://site");
      const path = join(site, pathname.endsWith("/") ? `${pathname}index.html` : pathname);
      const file = existsSync(path) && extname(path) !== "" ? path : `${path}.html`;
      if (!existsSync(file)) return void response.writeHead(404).end();
      response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" });
      response.end(readFileSync(file));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = new HeadlessBrowser(program ?? "");
  }, 600_000);

  afterAll(async () => {
    await browser?.close();
    await new Promise((resolve) => server?.close(resolve) ?? resolve(null));
  });

  /** The button does nothing until the page has come to life, so it is pressed until the field is there. */
  async function openSearch(): Promise<void> {
    const press = `document.querySelector(".VPNavBarSearch button")?.click()`;
    await browser.value(`document.activeElement?.id === "localsearch-input" || (${press}, null)`);
  }

  it("has every page of the checkout", () => {
    const missing = sitePages(repository)
      .map((page) => page.replace(/(^|\/)README\.md$/, "$1index.md").replace(/\.md$/, ".html"))
      .filter((page) => !existsSync(join(site, page)));
    expect(missing).toEqual([]);
  });

  it("finds a page by what it is about, and goes there", async () => {
    await browser.open(`${address}/`);
    await openSearch();
    await browser.type("snapshots and forks");
    const found = await browser.value<string>(`/snapshot/i.test(${FIRST_RESULT}?.textContent) && ${FIRST_RESULT}.href`);
    expect(found).toContain("/docs/snapshots");
    await browser.press("Enter");
    const title = await browser.value<string>(
      `location.pathname.startsWith("/docs/snapshots") && /snapshot/i.test(document.title) && document.title`,
    );
    expect(title).toContain("agentkernel");
  });

  it("says so where nothing is found", async () => {
    await browser.open(`${address}/docs/pages.html`);
    await openSearch();
    await browser.type("qqzxv");
    const answer = await browser.value<string>(`document.querySelector(".VPLocalSearchBox .no-results")?.textContent`);
    expect(answer).toContain("qqzxv");
  });

  it("leads from the sidebar to pages that are there", async () => {
    await browser.open(`${address}/docs/first-steps.html`);
    const links = await browser.value<string[]>(
      `document.querySelectorAll(".VPSidebar a").length > 20 && [...document.querySelectorAll(".VPSidebar a")].map((a) => a.href)`,
    );
    const answers = await Promise.all([...new Set(links)].map(async (link) => [link, (await fetch(link)).status]));
    expect(answers.filter(([, status]) => status !== 200)).toEqual([]);
  });

  it("asks for nothing outside of its own address", () => {
    expect(browser.requested.length).toBeGreaterThan(5);
    const elsewhere = browser.requested.filter(
      (one) => !one.startsWith(`${address}/`) && !/^(data|blob|about):/.test(one),
    );
    expect(elsewhere).toEqual([]);
  });
});
