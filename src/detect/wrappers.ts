/** Programs and shell words that only lead to another command: `env FOO=1 python3 x` runs python3. */

interface Wrapper {
  /** Options whose value is a word of its own. */
  readonly valued: readonly string[];
  /** Options after which nothing is run. */
  readonly ends?: readonly string[];
  /** Words between the options and the command, such as timeout's duration. */
  readonly operands?: number;
  /** The option whose value is a command line in one word. */
  readonly splits?: readonly string[];
}

const plain: Wrapper = { valued: [] };

const wrappers: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  ["env", { valued: ["-u", "--unset", "-C", "--chdir", "-a", "--argv0"], splits: ["-S", "--split-string"] }],
  [
    "sudo",
    {
      valued: [
        "-u",
        "--user",
        "-g",
        "--group",
        "-h",
        "--host",
        "-p",
        "--prompt",
        "-C",
        "-D",
        "--chdir",
        "-r",
        "-t",
        "-T",
      ],
      ends: ["-l", "--list", "-v", "--validate", "-k", "-K", "-e", "--edit"],
    },
  ],
  ["doas", { valued: ["-u", "-C"] }],
  ["nice", { valued: ["-n", "--adjustment"] }],
  ["ionice", { valued: ["-c", "--class", "-n", "--classdata"] }],
  ["timeout", { valued: ["-k", "--kill-after", "-s", "--signal"], operands: 1 }],
  ["stdbuf", { valued: ["-i", "--input", "-o", "--output", "-e", "--error"] }],
  ["xargs", { valued: ["-I", "-n", "-P", "-L", "-d", "-a", "-s", "-E"] }],
  ["time", { valued: ["-f", "--format", "-o", "--output"] }],
  ["command", { valued: [], ends: ["-v", "-V"] }],
  ["exec", { valued: ["-a"] }],
  ...["nohup", "setsid", "builtin", "busybox", "eatmydata", "unbuffer"].map((name) => [name, plain] as const),
  // Words of the shell's grammar that stand before a command.
  ...["if", "then", "elif", "else", "while", "until", "do", "!", "{"].map((name) => [name, plain] as const),
]);

type Unwrapped =
  /** The command itself, first word first. */
  | { readonly words: readonly string[] }
  /** A command line in one word. */
  | { readonly script: string };

/** Null where no command is left. */
export function unwrap(words: readonly string[]): Unwrapped | null {
  let at = 0;
  for (;;) {
    at = skipAssignments(words, at);
    const first = words[at];
    if (first === undefined) return null;
    const wrapper = wrappers.get(first.slice(first.lastIndexOf("/") + 1));
    if (wrapper === undefined) return { words: words.slice(at) };
    const inner = behindOptions(wrapper, words, at + 1);
    if (inner === null || typeof inner === "object") return inner;
    at = inner;
  }
}

function skipAssignments(words: readonly string[], from: number): number {
  let at = from;
  while (/^[A-Za-z_][A-Za-z0-9_]*\+?=/.test(words[at] ?? "")) at += 1;
  return at;
}

/** Where the wrapper's command begins, or its command line in one word. */
function behindOptions(
  wrapper: Wrapper,
  words: readonly string[],
  from: number,
): number | { readonly script: string } | null {
  let at = from;
  for (;;) {
    const word = words[at];
    if (word === undefined || !word.startsWith("-")) break;
    at += 1;
    if (word === "--") break;
    if (wrapper.ends?.includes(word)) return null;
    for (const option of wrapper.splits ?? []) {
      const script = word === option ? words[at] : joinedValue(word, option);
      if (script !== undefined) return { script };
    }
    if (wrapper.valued.includes(word)) at += 1;
  }
  // Assignments may also stand between a wrapper's options and its operands.
  return skipAssignments(words, at) + (wrapper.operands ?? 0);
}

function joinedValue(word: string, option: string): string | undefined {
  const joined = option.startsWith("--") ? `${option}=` : option;
  return word.startsWith(joined) ? word.slice(joined.length) : undefined;
}
