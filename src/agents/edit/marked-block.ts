/** Lines of ours in a Markdown file of the user's, between two comments that readers of the page do not see. */
import { notUnderstood, placeAt } from "./unreadable.js";

const BEGIN = "<!-- agentkernel: begin -->";
const END = "<!-- agentkernel: end -->";

interface Block {
  readonly start: number;
  readonly end: number;
}

export function ensureBlock(text: string | null, lines: string, name: string): string {
  const block = `${BEGIN}\n${lines.trimEnd()}\n${END}`;
  const before = text ?? "";
  const there = findBlock(before, name);
  if (there !== null) return before.slice(0, there.start) + block + before.slice(there.end);
  const gap = before === "" ? "" : before.endsWith("\n") ? "\n" : "\n\n";
  return `${before}${gap}${block}\n`;
}

export function removeBlock(text: string, name: string): string | null {
  const there = findBlock(text, name);
  if (there === null) return text;
  const head = text.slice(0, there.start);
  const tail = text.slice(there.end).replace(/^\r?\n/, "");
  const rest = tail === "" ? head.replace(/\n\n$/, "\n") : head + tail;
  return rest.trim() === "" ? null : rest;
}

function findBlock(text: string, name: string): Block | null {
  const start = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (start < 0 && end < 0) return null;
  if (start < 0 || end < start || text.indexOf(BEGIN, start + 1) >= 0 || text.indexOf(END, end + 1) >= 0) {
    const { line, column } = placeAt(text, Math.max(0, start < 0 ? end : start));
    throw notUnderstood(name, line, column, "the marks of agentkernel's lines are not one pair");
  }
  return { start, end: end + END.length };
}
