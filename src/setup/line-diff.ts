/** Two texts line by line: ` ` in both, `-` only in the first, `+` only in the second. For texts of a page or two. */
export function lineDiff(before: string, after: string): readonly string[] {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  const common = longestCommon(old, fresh);
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      lines.push(` ${old[i]}`);
      i++;
      j++;
    } else if (j >= fresh.length || (i < old.length && lengthAt(common, i + 1, j) >= lengthAt(common, i, j + 1))) {
      lines.push(`-${old[i++]}`);
    } else {
      lines.push(`+${fresh[j++]}`);
    }
  }
  return lines;
}

/** At `[i][j]`: how many lines the rests from there have in common. */
function longestCommon(old: readonly string[], fresh: readonly string[]): number[][] {
  const table = Array.from({ length: old.length + 1 }, () => new Array<number>(fresh.length + 1).fill(0));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      const row = table[i];
      if (row === undefined) continue;
      row[j] =
        old[i] === fresh[j]
          ? lengthAt(table, i + 1, j + 1) + 1
          : Math.max(lengthAt(table, i + 1, j), lengthAt(table, i, j + 1));
    }
  }
  return table;
}

function lengthAt(table: readonly (readonly number[])[], i: number, j: number): number {
  return table[i]?.[j] ?? 0;
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}
