/** Changes as lines for people: a letter, the path, and what is special about it. */
import type { ChangeKind, FileShape, ProjectChange } from "../../core/changes.js";
import { escapeText } from "../../core/escape.js";

const letters: Readonly<Record<ChangeKind, string>> = { added: "A", modified: "M", deleted: "D", renamed: "R" };

export function changeLine(change: ProjectChange): string {
  const { from, path, now, before } = change;
  const folder = (now ?? before)?.type === "dir" ? "/" : "";
  const names = from === null ? escapeText(path) : `${escapeText(from)} -> ${escapeText(path)}`;
  const special = specialsOf(change);
  const remark = special.length === 0 ? "" : ` (${special.join("; ")})`;
  return `${letters[change.change]} ${names}${folder}${remark}\n`;
}

function specialsOf({ now, before, binary, conflict, refused, review }: ProjectChange): readonly string[] {
  const special: string[] = [];
  if (now !== null && before !== null && now.type !== before.type) special.push(`${nounOf(before)} -> ${nounOf(now)}`);
  else if (now?.type === "symlink") special.push(`symlink to ${escapeText(now.target ?? "")}`);
  else if (before !== null && now === null && before.type === "symlink") special.push("symlink");
  if (now !== null && before !== null && now.type === before.type && modeOf(now) !== modeOf(before)) {
    special.push(`mode ${modeOf(before)} -> ${modeOf(now)}`);
  } else if (now?.type === "file" && before === null && (now.mode & 0o111) !== 0) {
    special.push("executable");
  }
  if (binary === true) special.push("binary");
  if (conflict !== null) special.push(`conflict: ${escapeText(conflict)}`);
  if (refused !== null) special.push(`refused: ${escapeText(refused)}`);
  if (review) special.push("waits for review");
  return special;
}

function modeOf({ mode }: FileShape): string {
  return (mode & 0o777).toString(8).padStart(3, "0");
}

function nounOf({ type }: FileShape): string {
  return { file: "file", symlink: "symlink", dir: "folder", other: "special file" }[type];
}
