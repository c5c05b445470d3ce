/**
 * Spellings of one name. Many file systems take several for the same file: without regard to case, to how a letter is
 * composed, to characters that show nothing, or to dots and spaces at the end. Rules are compared with all of them, as
 * native/jail/src/view/spelling.rs does; spec/spellings.json holds both to the same examples.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
const ASCII = /^[\u0000-\u007f]*$/;
const IGNORABLE = /\p{Default_Ignorable_Code_Point}/gu;

/** The form that all spellings of a name share, but for dots and spaces at its end. */
export function folded(name: string): string {
  if (ASCII.test(name)) return name.toLowerCase();
  // By way of upper case, since some letters have a capital in common: s and ſ, ß and ss.
  return name.replace(IGNORABLE, "").normalize("NFD").toUpperCase().toLowerCase();
}

/** What a rule has to be compared with: one form, or two where the name ends in dots or spaces. */
export function spellings(name: string): readonly string[] {
  const whole = folded(name);
  const trimmed = whole.replace(/[. ]+$/, "");
  return trimmed === whole || trimmed === "" ? [whole] : [whole, trimmed];
}
