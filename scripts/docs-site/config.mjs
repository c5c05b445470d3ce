// What VitePress is told. It lies beside the copied pages when it is read (scripts/docs-site/pages.mjs).
import { readFileSync } from "node:fs";
import { defineConfig } from "vitepress";

const sidebar = JSON.parse(readFileSync(new URL("sidebar.json", import.meta.url), "utf8"));

export default defineConfig({
  title: "agentkernel",
  description: "Sandboxes for the commands of AI coding agents",
  base: process.env.DOCS_BASE ?? "/",
  cleanUrls: false,
  // A link that leads nowhere fails the build, and markup in a page is text.
  ignoreDeadLinks: false,
  markdown: { html: false, theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" } },
  themeConfig: {
    search: { provider: "local" },
    nav: [
      { text: "First steps", link: "/docs/first-steps" },
      { text: "All pages", link: "/docs/pages" },
    ],
    sidebar,
    outline: [2, 3],
    docFooter: { prev: false, next: false },
  },
});
