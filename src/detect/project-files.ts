/** Which languages the files in a project's top folder speak for, in the table's order. */
import { type LanguageRow, languageTable } from "./languages.js";

export interface FilesMatch {
  readonly row: LanguageRow;
  /** The file that says so, as it is named on disk. */
  readonly file: string;
}

export function languagesOfFiles(names: readonly string[]): FilesMatch[] {
  const present = new Set(names);
  const matches: FilesMatch[] = [];
  for (const row of languageTable) {
    for (const pattern of row.files) {
      const file = pattern.startsWith("*") ? firstEndingWith(names, pattern.slice(1)) : pattern;
      if (file === null || !present.has(file)) continue;
      matches.push({ row, file });
      break;
    }
  }
  return matches;
}

/** The alphabetically first, so that the same folder always gives the same reason. */
function firstEndingWith(names: readonly string[], suffix: string): string | null {
  const fitting = names.filter((name) => name.endsWith(suffix) && !name.startsWith("."));
  return fitting.reduce<string | null>((first, name) => (first === null || name < first ? name : first), null);
}
