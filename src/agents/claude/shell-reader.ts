/**
 * Reads a shell script far enough to say which commands are in it: also those within substitutions, double quotes and
 * here-documents. It is for rules that forbid, so it errs on the side of too many commands, and says where it cannot tell.
 * What an expansion makes of a word is not known: `ANYTHING` stands for it. Whatever it is given, it ends soon.
 */
import { ansiQuoted } from "./ansi-quoted.js";

/** In a word: any text at all. No command has this character. */
export const ANYTHING = "\0";

export interface ReadCommand {
  readonly words: readonly string[];
  /** What it reads comes from the command before it. */
  readonly isPiped: boolean;
}

export interface ReadScript {
  readonly commands: ReadCommand[];
  /** Here-documents and here-strings. */
  readonly inputs: string[];
  /** Why there may be more in it than was found. */
  unclear: string | null;
}

export function readScript(script: string): ReadScript {
  const found: ReadScript = { commands: [], inputs: [], unclear: null };
  new Reader(script, found, 0).script(null);
  return found;
}

const MAX_COMMANDS = 4000;
const MAX_DEPTH = 40;
/** Each looks for its end. */
const MAX_ARITHMETIC = 100;

/** Words after which a command may still begin. */
export const grammarWords = new Set(["if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "time"]);

interface HereDocument {
  readonly delimiter: string;
  readonly isRaw: boolean;
}

class Reader {
  readonly #text: string;
  readonly #found: ReadScript;
  readonly #depth: number;
  #at: number;
  #words: string[] = [];
  #word: string | null = null;
  #isQuoted = false;
  #isPiped = false;
  /** What the next word is. */
  #next: "word" | "target" | "delimiter" | "input" = "word";
  #documents: HereDocument[] = [];
  #arithmetic = 0;
  /** What is open: a parenthesis closes the last of them, but in a `case` it ends a pattern. */
  readonly #open: ("(" | "case")[] = [];

  constructor(text: string, found: ReadScript, depth: number, at = 0) {
    this.#text = text;
    this.#found = found;
    this.#depth = depth;
    this.#at = at;
    if (depth > MAX_DEPTH) this.#giveUp("it is nested too deeply");
  }

  /** Up to the parenthesis that closes it, or to the end. */
  script(end: ")" | null): number {
    while (this.#at < this.#text.length) {
      if (this.#found.commands.length > MAX_COMMANDS) this.#giveUp("it has too many commands");
      const char = this.#text.charAt(this.#at);
      this.#at += 1;
      if (char !== ")") this.#step(char);
      else {
        this.#endCommand();
        const last = this.#open.at(-1);
        if (last === "(") this.#open.pop();
        else if (last === undefined && end !== null) return this.#at;
      }
    }
    this.#endCommand();
    if (end !== null || this.#open.length > 0) this.#doubt("a part of it does not end");
    return this.#at;
  }

  #step(char: string): void {
    const following = this.#text.charAt(this.#at);
    if (char === "\\") {
      this.#at += 1;
      this.#isQuoted = true;
      if (following !== "\n") this.#add(following);
    } else if (char === "'") this.#quote(this.#singleQuoted());
    else if (char === '"') this.#quote(this.quoted('"'));
    else if (char === "`") this.#backticks();
    else if (char === "$") this.#add(this.#dollar(false));
    else if (char === "\n") this.#endLine();
    else if (char === "&" && following === ">") this.#endWord();
    else if (char === "(") this.#parenthesis();
    else if (char === ";" || char === "&") this.#endCommand();
    else if (char === "|") this.#pipe();
    else if ((char === "<" || char === ">") && following === "(") {
      this.#at = new Reader(this.#text, this.#found, this.#depth + 1, this.#at + 1).script(")");
      this.#add(ANYTHING);
    } else if (char === "<" || char === ">") this.#redirection(char);
    else if (/\s/.test(char)) this.#endWord();
    else if (char === "#" && this.#word === null) this.#comment();
    else this.#add(this.#expands(char, following) ? ANYTHING : char);
  }

  /** Names of files, and lists in braces; not `{`, `{}`, `[` and `[[` as words. */
  #expands(char: string, following: string): boolean {
    if (char === "*" || char === "?") return true;
    if (char === "{") return !/^[\s}]?$/.test(following);
    return char === "[" && !(this.#word === null && /^[\s[]?$/.test(following)) && this.#word !== "[";
  }

  #add(text: string): void {
    this.#word = (this.#word ?? "") + text;
  }

  #quote(text: string): void {
    this.#isQuoted = true;
    this.#add(text);
  }

  #singleQuoted(): string {
    const found = this.#text.indexOf("'", this.#at);
    if (found < 0) this.#doubt("a quote does not end");
    const stop = found < 0 ? this.#text.length : found;
    const inner = this.#text.slice(this.#at, stop);
    this.#at = stop + 1;
    return inner;
  }

  /** To the end that is given, or of the text: what is in double quotes, or in a here-document. */
  quoted(end: '"' | null): string {
    let inner = "";
    while (this.#at < this.#text.length) {
      const char = this.#text.charAt(this.#at);
      this.#at += 1;
      if (char === end) return inner;
      if (char === "\\") {
        const escaped = this.#text.charAt(this.#at);
        this.#at += 1;
        if (escaped !== "\n") inner += '"\\$`'.includes(escaped) ? escaped : `\\${escaped}`;
      } else if (char === "$") inner += this.#dollar(true);
      else if (char === "`") {
        this.#substitute();
        inner += ANYTHING;
      } else inner += char;
    }
    if (end !== null) this.#doubt("a quote does not end");
    return inner;
  }

  #backticks(): void {
    this.#substitute();
    this.#add(ANYTHING);
  }

  #substitute(): void {
    const inner = /(?:[^`\\]|\\[\s\S])*/y;
    inner.lastIndex = this.#at;
    const script = inner.exec(this.#text)?.[0] ?? "";
    this.#at += script.length + 1;
    if (this.#at > this.#text.length) this.#doubt("a substitution does not end");
    new Reader(script.replace(/\\([$`\\"])/g, "$1"), this.#found, this.#depth + 1).script(null);
  }

  #dollar(isInQuotes: boolean): string {
    const following = this.#text.charAt(this.#at);
    if (following === "(") {
      if (this.#text.startsWith("((", this.#at) && this.#arithmeticAt(this.#at)) return ANYTHING;
      this.#nest(this.#at + 1);
      return ANYTHING;
    }
    if (following === "{" || following === "[") return this.#parameter(following === "{" ? "}" : "]");
    if (following === "'" && !isInQuotes) {
      const { text, length } = ansiQuoted(this.#text.slice(this.#at + 1));
      this.#at += 1 + length;
      this.#isQuoted = true;
      return text;
    }
    if (following === '"' && !isInQuotes) return "";
    const name = /(?:[A-Za-z_]\w*|[0-9@*#?$!-])/y;
    name.lastIndex = this.#at;
    const length = name.exec(this.#text)?.[0].length ?? 0;
    this.#at += length;
    return length === 0 ? "$" : ANYTHING;
  }

  #nest(from: number): void {
    const inner = new Reader(this.#text, this.#found, this.#depth + 1, from);
    this.#at = inner.script(")");
    this.#documents.push(...inner.#documents);
  }

  /** `${x:-$(command)}` */
  #parameter(end: "}" | "]"): string {
    if (/^\{[\s|]/.test(this.#text.slice(this.#at, this.#at + 2))) this.#doubt("it has a command in braces");
    const inner = new Reader(this.#text, this.#found, this.#depth + 1, this.#at + 1);
    this.#at = inner.#untilBrace(end);
    return ANYTHING;
  }

  #untilBrace(end: "}" | "]"): number {
    while (this.#at < this.#text.length) {
      const char = this.#text.charAt(this.#at);
      this.#at += 1;
      if (char === end) return this.#at;
      if (char === "\\") this.#at += 1;
      else if (char === "'") this.#singleQuoted();
      else if (char === '"') this.quoted('"');
      else if (char === "`") this.#substitute();
      else if (char === "$") this.#dollar(false);
    }
    this.#doubt("a parameter does not end");
    return this.#at;
  }

  #parenthesis(): void {
    const isFirst = this.#word === null && this.#text.charAt(this.#at) === "(";
    if (isFirst && this.#arithmeticAt(this.#at - 1)) {
      this.#add("((");
      return;
    }
    this.#endCommand();
    this.#open.push("(");
  }

  /** `((…))`, in which `<<` begins no here-document. What is in it is read as commands too, in case that it is some. */
  #arithmeticAt(from: number): boolean {
    this.#arithmetic += 1;
    if (this.#arithmetic > MAX_ARITHMETIC) {
      this.#giveUp("it has too many calculations");
      return true;
    }
    let depth = 0;
    for (let at = from; at < this.#text.length; at += 1) {
      const char = this.#text.charAt(at);
      if (char === "(") depth += 1;
      else if (char === ")") depth -= 1;
      if (depth > 0) continue;
      if (this.#text.charAt(at - 1) !== ")") return false;
      const inner = this.#text.slice(from + 2, at - 1);
      new Reader(inner, this.#found, this.#depth + 1).quoted(null);
      new Reader(inner, { ...this.#found, unclear: null }, this.#depth + 1).script(null);
      this.#at = at + 1;
      return true;
    }
    return false;
  }

  #pipe(): void {
    const isOr = this.#text.charAt(this.#at) === "|";
    this.#endCommand();
    if (isOr) this.#at += 1;
    else this.#isPiped = true;
  }

  #comment(): void {
    const end = this.#text.indexOf("\n", this.#at);
    this.#at = end < 0 ? this.#text.length : end;
  }

  #redirection(first: string): void {
    // A number or a name in braces before it is a descriptor.
    if (this.#word !== null && /^(?:\d+|\0\w+\})$/.test(this.#word)) this.#word = null;
    this.#endWord();
    const rest = this.#text.slice(this.#at, this.#at + 2);
    if (first === "<" && rest === "<<") this.#next = "input";
    else if (first === "<" && rest.startsWith("<")) this.#next = "delimiter";
    else this.#next = "target";
    this.#at += /^(?:<<|<-|[<>&|]?)/.exec(rest)?.[0].length ?? 0;
  }

  #endWord(): void {
    const word = this.#word;
    if (word === null) return;
    if (this.#next === "delimiter") this.#documents.push({ delimiter: word, isRaw: this.#isQuoted });
    else if (this.#next === "input") this.#found.inputs.push(word);
    else if (this.#next === "word") this.#endOwnWord(word);
    this.#next = "word";
    this.#word = null;
    this.#isQuoted = false;
  }

  #endOwnWord(word: string): void {
    const isFirst = !this.#isQuoted && this.#words.every((before) => grammarWords.has(before));
    if (isFirst && word === "case") this.#open.push("case");
    const isEmptyCase = word === "esac" && this.#words.at(-1) === "in";
    if ((isFirst || isEmptyCase) && word === "esac" && this.#open.at(-1) === "case") this.#open.pop();
    this.#words.push(word);
  }

  #endCommand(): void {
    this.#endWord();
    this.#next = "word";
    if (this.#words.length > 0) {
      this.#found.commands.push({ words: this.#words, isPiped: this.#isPiped });
      this.#isPiped = false;
    }
    this.#words = [];
  }

  #endLine(): void {
    const wasPiped = this.#isPiped && this.#words.length === 0 && this.#word === null;
    this.#endCommand();
    this.#isPiped = wasPiped;
    for (const document of this.#documents.splice(0)) this.#readDocument(document);
  }

  #readDocument({ delimiter, isRaw }: HereDocument): void {
    for (let at = this.#at; at < this.#text.length; ) {
      const end = this.#text.indexOf("\n", at);
      const stop = end < 0 ? this.#text.length : end;
      if (this.#text.slice(at, stop).replace(/^\t+/, "") === delimiter) {
        const body = this.#text.slice(this.#at, at);
        this.#found.inputs.push(isRaw ? body : new Reader(body, this.#found, this.#depth + 1).quoted(null));
        this.#at = stop;
        return;
      }
      at = stop + 1;
    }
    // Then its lines are read as commands.
    this.#doubt("a here-document does not end");
  }

  #doubt(why: string): void {
    this.#found.unclear ??= why;
  }

  #giveUp(why: string): void {
    this.#doubt(why);
    this.#at = this.#text.length;
  }
}
