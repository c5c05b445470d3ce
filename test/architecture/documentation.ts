/** What the pages of the documentation point at, and what they tell a reader to type. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { verbs } from "../../src/cli/verbs.js";
import { scriptCommands } from "../../src/detect/shell-script.js";

const folders = [
  ".",
  "docs",
  "docs/agents",
  "docs/decisions",
  "docs/tutorials",
  "examples",
  "scripts/release",
  "spec",
  ...readdirSync("src").map((name) => join("src", name)),
  ...readdirSync("sdk").map((name) => join("sdk", name)),
];

export const pages: readonly string[] = folders.flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name)),
);

/** For users: what is shown here is typed. */
export const manuals = pages.filter(
  (page) => page === "README.md" || (page.startsWith("docs/") && !page.startsWith("docs/decisions/")),
);

interface Link {
  /** Below the checkout; the page itself where only a heading is meant. */
  readonly path: string;
  readonly heading: string | null;
}

/** Links to other places of the checkout. */
export function linksOf(page: string, text = readFileSync(page, "utf8")): readonly Link[] {
  const targets = [...withoutFences(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = "", heading] = target.split("#");
      return { path: path === "" ? page : join(dirname(page), path), heading: heading ?? null };
    });
}

/** The anchors of a page's headings, as they are on the usual hosts. */
export function anchorsOf(text: string): readonly string[] {
  return [...withoutFences(text).matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** Every command line of ours that a page shows, as words behind the program's name. */
export function commandsOf(text: string): readonly (readonly string[])[] {
  const shown = [...blockLines(text), ...spans(text)].map((line) => line.replaceAll("…", "etc"));
  return shown.flatMap((line) =>
    scriptCommands(line).flatMap((words) => {
      const at = words.findIndex((word) => /^(\.\/bin\/)?agentkernel$/.test(word));
      const isOurs = at >= 0 && words.slice(0, at).every((word) => word.includes("=") || word === "sudo");
      return isOurs ? [words.slice(at + 1)] : [];
    }),
  );
}

/** Of blocks that show a terminal, what was typed: behind a prompt where the block has one. */
function blockLines(text: string): readonly string[] {
  const blocks = [...text.matchAll(/^```(?:sh|shell|console)?\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block);
  return blocks.flatMap((block) => {
    const lines = block.replaceAll("\\\n", " ").split("\n");
    const prompted = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
    return prompted.length > 0
      ? prompted
      : lines.filter((line) => /^(\.\/bin\/)?agentkernel /.test(line) && !/: /.test(line));
  });
}

/** In the text a verb with an option stands for the whole command line: `run --timeout 30s …`. */
function spans(text: string): readonly string[] {
  const all = [...withoutFences(text).matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span.replaceAll("\\|", "|"));
  const isShort = (span: string) => verbs.some(({ name }) => span.startsWith(`${name} -`));
  return all.map((span) => (isShort(span) ? `agentkernel ${span}` : span));
}

function withoutFences(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, "");
}
