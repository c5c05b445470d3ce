/** Which language a command speaks for: its program, looked for behind wrappers and in the script of a `sh -c`. */
import { type CommandMatch, matchCommand, SHELL } from "./languages.js";
import { scriptCommands } from "./shell-script.js";
import { unwrap } from "./wrappers.js";

export interface CommandFinding extends CommandMatch {
  /** Found in a shell script rather than as the command's own first word. */
  readonly inScript: boolean;
}

const shells = new Set(["sh", "bash", "zsh", "dash", "ash", "ksh"]);

/** Scripts within scripts are looked into this far. */
const MAX_DEPTH = 4;

export function languageOfCommand(argv: readonly string[]): CommandFinding | null {
  return findIn(argv, 0);
}

export function languageOfScript(script: string): CommandFinding | null {
  return findInScript(script, 0);
}

function findIn(argv: readonly string[], depth: number): CommandFinding | null {
  const command = unwrap(argv);
  if (command === null) return null;
  if ("script" in command) return findInScript(command.script, depth + 1);
  const [program, ...args] = command.words;
  if (program === undefined) return null;
  const name = program.slice(program.lastIndexOf("/") + 1);
  // What such a shell runs says more than the shell: where the script names nothing, the project's files are asked.
  const script = shells.has(name) ? shellScript(args) : null;
  if (script !== null) return findInScript(script.text, depth + 1, script.parameters);
  const match = matchCommand(program);
  return match === null ? null : { ...match, inScript: depth > 0 };
}

/** The first command that names a language; a shell that runs a script file only where nothing else does. */
function findInScript(script: string, depth: number, parameters: readonly string[] = []): CommandFinding | null {
  if (depth > MAX_DEPTH) return null;
  let shell: CommandFinding | null = null;
  const parameter = parameterReader(parameters);
  for (const words of scriptCommands(script)) {
    const finding = findIn(
      words.map((word) => parameter(word) ?? word),
      Math.max(depth, 1),
    );
    if (finding === null) continue;
    if (finding.row.language !== SHELL) return { ...finding, inScript: true };
    shell ??= { ...finding, inScript: true };
  }
  return shell;
}

/**
 * What `$1` stands for: a script may get the command that it runs as a parameter. Each is looked into once: a script that
 * names one a thousand times, and is that one itself, would otherwise never be read to its end.
 */
function parameterReader(parameters: readonly string[]): (word: string) => string | undefined {
  const unread: (string | undefined)[] = [...parameters];
  return (word) => {
    const number = /^\$(\d)$/.exec(word)?.[1];
    if (number === undefined) return undefined;
    const [value] = unread.splice(Number(number), 1, undefined);
    return value;
  };
}

interface ShellScript {
  readonly text: string;
  /** From `$0` on. */
  readonly parameters: readonly string[];
}

/** The script of `sh -c SCRIPT`, in any of the forms that shells accept; null where a file or input is run. */
function shellScript(args: readonly string[]): ShellScript | null {
  let isScript = false;
  let at = 0;
  for (;;) {
    const word = args[at];
    if (word === undefined) return null;
    if (word === "-" || word === "--") {
      at += 1;
      break;
    }
    if (word.startsWith("--")) at += word === "--rcfile" || word === "--init-file" ? 2 : 1;
    else if (/^[-+]./.test(word)) {
      const letters = [...word.slice(1)];
      if (word.startsWith("-") && letters.includes("c")) isScript = true;
      at += 1 + letters.filter((letter) => letter === "o" || letter === "O").length;
    } else break;
  }
  const text = isScript ? args[at] : undefined;
  return text === undefined ? null : { text, parameters: args.slice(at + 1) };
}
