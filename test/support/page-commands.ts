/** What a page of the documentation tells a reader to type, and what it says comes of it. */

interface TypedCommand {
  readonly command: string;
  /** As the page shows it; `…` stands for anything. Empty where the page shows nothing. */
  readonly output: string;
}

interface PageFile {
  readonly name: string;
  readonly text: string;
}

/** Blocks that are marked `console`, in order. A block that is marked otherwise is not run. */
export function typedCommands(page: string): readonly TypedCommand[] {
  return blocks(page, "console").flatMap(({ text }) =>
    text
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const [command = "", ...lines] = part.split("\n");
        return { command, output: lines.join("\n").trimEnd() };
      }),
  );
}

/** Blocks that a reader puts into files: a language, then the file's name. */
export function pageFiles(page: string): readonly PageFile[] {
  return blocks(page, "[a-z]+ (\\S+)").map(({ label, text }) => ({ name: label, text }));
}

function blocks(page: string, mark: string): readonly { readonly label: string; readonly text: string }[] {
  const all = [...page.matchAll(new RegExp(`^\`\`\`${mark}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))];
  return all.map((found) => ({ label: found.length > 2 ? (found[1] ?? "") : "", text: found.at(-1) ?? "" }));
}

/** Whether what came is what the page shows. A line that is only `…` may be any lines, or none. */
export function isShown(shown: string, came: string): boolean {
  if (shown === "") return true;
  const pattern = shown.split(/(^…\n|\n…$(?![\s\S])|…)/m).map((part) => {
    if (part === "…\n") return "(?:[\\s\\S]*\\n)?";
    if (part === "\n…") return "(?:\\n[\\s\\S]*)?";
    return part === "…" ? "[\\s\\S]*" : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  });
  return new RegExp(`^${pattern.join("")}$`).test(came.trimEnd());
}
