/**
 * Reads a shell script far enough to say which commands it runs, as words with their quotes taken off. It is a reader
 * for guessing, not a shell: substitutions stay part of their word, redirections and here-documents are dropped, and
 * nothing that it is given makes it fail.
 */

/** More than any command line that a person or an agent writes; the rest of a longer one is not looked at. */
const MAX_SCRIPT_CHARS = 65_536;

export function scriptCommands(script: string): string[][] {
  return new ScriptReader(script.slice(0, MAX_SCRIPT_CHARS)).read();
}

class ScriptReader {
  readonly #text: string;
  #at = 0;
  #commands: string[][] = [];
  #words: string[] = [];
  #word: string | null = null;
  /** What the next word is, other than a word of the command. */
  #next: "word" | "target" | "delimiter" = "word";
  #delimiters: string[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  read(): string[][] {
    while (this.#at < this.#text.length) this.#step(this.#text.charAt(this.#at));
    this.#endCommand();
    return this.#commands;
  }

  #step(char: string): void {
    const following = this.#text.charAt(this.#at + 1);
    this.#at += 1;
    if (char === "\\") {
      this.#at += 1;
      if (following !== "\n") this.#add(following);
    } else if (char === "'") this.#add(this.#until("'"));
    else if (char === '"') this.#add(this.#doubleQuoted());
    else if (char === "`") this.#add(`\`${this.#until("`")}\``);
    else if (char === "$" && following === "(") this.#add(this.#substitution());
    else if (char === "\n") this.#endLine();
    else if (char === "&" && following === ">") this.#endWord();
    else if (";&|()".includes(char)) this.#endCommand();
    else if (char === "<" || char === ">") this.#redirection(char);
    else if (/\s/.test(char)) this.#endWord();
    else if (char === "#" && this.#word === null) this.#until("\n", true);
    else this.#add(char);
  }

  #add(text: string): void {
    this.#word = (this.#word ?? "") + text;
  }

  #until(end: string, leaveEnd = false): string {
    const found = this.#text.indexOf(end, this.#at);
    const stop = found < 0 ? this.#text.length : found;
    const inner = this.#text.slice(this.#at, stop);
    this.#at = found >= 0 && !leaveEnd ? stop + 1 : stop;
    return inner;
  }

  #doubleQuoted(): string {
    let inner = "";
    while (this.#at < this.#text.length) {
      const char = this.#text.charAt(this.#at);
      this.#at += 1;
      if (char === '"') break;
      if (char === "\\") {
        const escaped = this.#text.charAt(this.#at);
        this.#at += 1;
        if (escaped !== "\n") inner += '"\\$`'.includes(escaped) ? escaped : `\\${escaped}`;
      } else inner += char;
    }
    return inner;
  }

  /** From after `$` to the parenthesis that closes it. */
  #substitution(): string {
    const start = this.#at;
    let depth = 0;
    while (this.#at < this.#text.length) {
      const char = this.#text.charAt(this.#at);
      this.#at += 1;
      if (char === "\\") this.#at += 1;
      else if (char === "'") this.#until("'");
      else if (char === "(") depth += 1;
      else if (char === ")") {
        depth -= 1;
        if (depth === 0) break;
      }
    }
    return `$${this.#text.slice(start, this.#at)}`;
  }

  #redirection(first: string): void {
    // A number before it names a descriptor.
    if (this.#word !== null && /^\d+$/.test(this.#word)) this.#word = null;
    this.#endWord();
    const rest = this.#text.slice(this.#at, this.#at + 2);
    if (first === "<" && rest.startsWith("(")) return;
    const hereDocument = first === "<" && rest.startsWith("<") && rest !== "<<";
    this.#at += /^(?:<<|<-|[<>&|]{0,1})/.exec(rest)?.[0].length ?? 0;
    this.#next = hereDocument ? "delimiter" : "target";
  }

  #endWord(): void {
    if (this.#word === null) return;
    if (this.#next === "word") this.#words.push(this.#word);
    else if (this.#next === "delimiter") this.#delimiters.push(this.#word);
    this.#next = "word";
    this.#word = null;
  }

  #endCommand(): void {
    this.#endWord();
    this.#next = "word";
    if (this.#words.length > 0) this.#commands.push(this.#words);
    this.#words = [];
  }

  #endLine(): void {
    this.#endCommand();
    for (const delimiter of this.#delimiters.splice(0)) {
      while (this.#at < this.#text.length) {
        if (this.#until("\n").replace(/^\t+/, "") === delimiter) break;
      }
    }
  }
}
