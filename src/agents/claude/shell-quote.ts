/** One word for any POSIX shell, whatever is in it. */

/** Within single quotes every character but the quote stands for itself; a NUL cannot be in a word at all. */
export function shellQuote(word: string): string {
  if (word.includes("\0")) throw new RangeError("a NUL cannot be in a word of a command");
  return `'${word.replaceAll("'", "'\\''")}'`;
}
