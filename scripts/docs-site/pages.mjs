// Brings the Markdown of the checkout into the form that VitePress builds. The tree stays as it is, so that relative links
// hold; only what a site cannot show is changed. Writes below the folder that it is given and nowhere else.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";

const beside = ["examples", "scripts/release", "spec"];
const parents = ["sdk", "src"];
const pictures = ["docs/pictures", "docs/agents/pictures", "docs/bench"];

/** Every page of the site, from the root of the checkout. */
export function sitePages(root) {
  const inside = (folder, recursive) =>
    readdirSync(join(root, folder), { recursive })
      .filter((name) => name.endsWith(".md"))
      .map((name) => posix.join(folder, name));
  const below = parents.flatMap((parent) => readdirSync(join(root, parent)).map((name) => posix.join(parent, name)));
  const folders = [...beside, ...below].filter((folder) => statSync(join(root, folder)).isDirectory());
  return [...inside(".", false), ...inside("docs", true), ...folders.flatMap((folder) => inside(folder, false))].sort();
}

/** A folder's README is its index on a site. */
export function siteName(page) {
  return page.replace(/(^|\/)README\.md$/, "$1index.md");
}

/** The text of a page for the site: no comments, links to pages by their names there, and none to other files. */
export function sitePage(page, text, pages) {
  const known = new Set(pages);
  return outsideFences(text.replace(/<!--[\s\S]*?-->\n?/g, ""), (part) =>
    part.replace(/(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (whole, bang, label, target) => {
      if (bang === "!" || /^[a-z]+:|^#/.test(target)) return whole;
      const [path = "", anchor] = target.split("#");
      const place = posix.normalize(posix.join(posix.dirname(page), path));
      // Source and data are read in a checkout; a site has none of it.
      if (!known.has(place)) return label.startsWith("`") ? label : `\`${place}\``;
      return `[${label}](${siteName(path)}${anchor === undefined ? "" : `#${anchor}`})`;
    }),
  );
}

function outsideFences(text, change) {
  return text
    .split(/(^ *```[\s\S]*?^ *```$)/m)
    .map((part, index) => (index % 2 === 1 ? part : change(part)))
    .join("");
}

/** Groups of the sidebar: the headings of docs/pages.md, and the first link of each of its lines. */
export function sidebar(overview) {
  return overview
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      text: section.split("\n")[0] ?? "",
      collapsed: false,
      items: [...section.matchAll(/^- \[([^\]]+)\]\(([^)]+)\.md\)/gm)].map(([, text = "", path = ""]) => ({
        text,
        link: `/${siteName(`${posix.normalize(posix.join("docs", path))}.md`).replace(/(index)?\.md$/, "")}`,
      })),
    }));
}

export function writeSite(root, to) {
  const pages = sitePages(root);
  for (const page of pages) {
    const place = join(to, siteName(page));
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, sitePage(page, readFileSync(join(root, page), "utf8"), pages));
  }
  for (const folder of pictures.filter((name) => existsSync(join(root, name)))) {
    cpSync(join(root, folder), join(to, folder), { recursive: true, filter: (path) => !path.endsWith(".json") });
  }
  mkdirSync(join(to, ".vitepress"), { recursive: true });
  const groups = sidebar(readFileSync(join(root, "docs/pages.md"), "utf8"));
  writeFileSync(join(to, ".vitepress", "sidebar.json"), JSON.stringify(groups));
  cpSync(join(root, "scripts/docs-site/config.mjs"), join(to, ".vitepress", "config.mjs"));
  return pages;
}
