/** `$'…'` of bash: a quote in which a backslash means what it means in C. */

const letters: Readonly<Record<string, string>> = {
  ...{ a: "\u0007", b: "\b", e: "\u001b", E: "\u001b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" },
};

/** The text of a quote that has been opened, and how many characters it took with its end. */
export function ansiQuoted(rest: string): { readonly text: string; readonly length: number } {
  const inner = /^(?:[^'\\]|\\[\s\S])*/.exec(rest)?.[0] ?? "";
  const text = inner.replace(
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c([\s\S])|([\s\S]))/g,
    (_all, x?: string, u?: string, long?: string, octal?: string, control?: string, other?: string) => {
      const hex = x ?? u ?? long;
      if (hex !== undefined) return character(Number.parseInt(hex, 16));
      if (octal !== undefined) return character(Number.parseInt(octal, 8) & 0xff);
      if (control !== undefined) return character(control.charCodeAt(0) & 0x1f);
      return letters[other ?? ""] ?? other ?? "";
    },
  );
  return { text, length: inner.length + 1 };
}

function character(code: number): string {
  return code > 0x10ffff ? "" : String.fromCodePoint(code);
}
