/** The commands that a script runs, each as a line: also what stands behind `env`, in `sh -c`, `eval`, `find -exec` and so on. */
import { unwrap } from "../../detect/wrappers.js";
import { ANYTHING, grammarWords, type ReadScript, readScript } from "./shell-reader.js";

interface CommandLines {
  readonly lines: readonly string[];
  /** Why there may be more. */
  readonly unclear: string | null;
}

export function commandLines(script: string): CommandLines {
  const walk = new Walk();
  walk.script(script, 0);
  return walk;
}

const shells = new Set([
  ...["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "yash", "fish", "csh", "tcsh", "pwsh"],
]);

/** Programs that run what follows their options, beside those that src/detect knows. */
const launchers = new Set([
  ...["watch", "strace", "ltrace", "perf", "valgrind", "gdb", "chroot", "unshare", "nsenter", "setarch", "linux64"],
  ...[
    "linux32",
    "taskset",
    "chrt",
    "numactl",
    "prlimit",
    "setpriv",
    "runuser",
    "su",
    "sg",
    "script",
    "flock",
    "faketime",
  ],
  ...["firejail", "bwrap", "systemd-run", "entr", "tini", "dumb-init", "toybox", "catchsegv", "proot", "fakeroot"],
  ...["xvfb-run", "dbus-run-session", "ssh-agent", "torsocks", "cgexec", "cpulimit", "daemonize", "start-stop-daemon"],
  ...["parallel", "rlwrap", "winpty", "coproc"],
]);

/** Variables that make a shell run something. */
const tellingVariables = /^(?:BASH_ENV|ENV|PROMPT_COMMAND|PS[0-4]|SHELLOPTS|BASHOPTS|BASH_FUNC_.*)\+?=/;

const MAX_DEPTH = 8;
const MAX_LINES = 20_000;
/** Options before a command; more than anybody writes. */
const MAX_LEADING = 48;

class Walk {
  readonly lines: string[] = [];
  unclear: string | null = null;

  script(script: string, depth: number): void {
    if (depth > MAX_DEPTH || this.lines.length > MAX_LINES) {
      this.#doubt("it is nested too deeply");
      return;
    }
    if (script.includes(ANYTHING)) this.#doubt("a part of it is put together when it runs");
    const read = readScript(script);
    if (read.unclear !== null) this.#doubt(read.unclear);
    for (const { words, isPiped } of read.commands) this.#command({ words, isPiped, read, depth });
  }

  #command(call: Call, isOuter = true): void {
    const { words } = call;
    if (call.depth > MAX_DEPTH || this.lines.length > MAX_LINES) {
      this.#doubt("it is nested too deeply");
      return;
    }
    let at = 0;
    while (isAssignment(words[at] ?? "") || grammarWords.has(words[at] ?? "")) at += 1;
    if (words.slice(0, at).some((word) => tellingVariables.test(word)))
      this.#doubt("it sets a variable that runs commands");
    const own = words.slice(at);
    const [first, ...rest] = own;
    this.lines.push(words.join(" "), own.join(" "));
    if (first === undefined) return;
    const name = first.slice(first.lastIndexOf("/") + 1);
    this.lines.push([name, ...rest].join(" "));
    this.#inner(name, { ...call, words: rest });
    if (isOuter) this.#behind(name, own, call);
  }

  /** Scripts among the words of a command. */
  #inner(name: string, call: Call): void {
    const { words, depth } = call;
    const scripts = (texts: readonly string[]) => {
      for (const text of texts) this.script(text, depth + 1);
    };
    if (shells.has(name)) this.#shell(call);
    else if (name === "eval") scripts([words.join(" ")]);
    else if (name === "trap") scripts(words);
    else if (name === "alias" && words.some((word) => word.includes("="))) {
      scripts(words.map((word) => word.slice(word.indexOf("=") + 1)));
      this.#doubt("it makes an alias");
    } else if (name === "." || name === "source") {
      if (isFromElsewhere(words[0])) this.#fed(call);
    } else if (name === "hash" || name === "enable" || name === "shopt") {
      if (words.some((word) => /^-\w*[pf]|expand_aliases/.test(word)))
        this.#doubt(`it changes names of commands with ${name}`);
    } else if (name === "parallel") {
      scripts(words);
      this.#doubt("what it runs is put together when it runs");
    } else if (name === "env") {
      const split = words.findIndex((word) => /^-[A-Za-z0-9]*S|^--split/.test(word));
      if (split >= 0)
        scripts([
          words
            .slice(split)
            .join(" ")
            .replace(/^(?:-[A-Za-z0-9]*?S|--split\S*?[= ])/, ""),
        ]);
    } else if (name === "find" || name === "fd" || name === "fdfind") this.#find(call);
    else if (["su", "runuser", "script", "flock", "sg"].includes(name)) {
      const at = words.findIndex((word) => /^-\w*c|^--command/.test(word));
      if (at >= 0) scripts(words.slice(at).map((word) => word.replace(/^--command=/, "")));
    }
  }

  /** Commands behind a command, where it leads to another. */
  #behind(name: string, own: readonly string[], call: Call): void {
    const rest = own.slice(1);
    const go = (words: readonly string[], isOuter: boolean) =>
      this.#command({ ...call, words, depth: call.depth + 1 }, isOuter);
    if (name === "function") go(rest.slice(1), true);
    if (name === "for" || name === "select") {
      const body = rest.indexOf("do");
      if (body >= 0) go(rest.slice(body + 1), true);
    }
    const behind = launchers.has(name) ? { words: rest } : unwrap([name, ...rest]);
    if (behind === null || !("words" in behind) || behind.words.length > rest.length) return;
    // It appends what it reads.
    const added = name === "xargs" ? [ANYTHING] : [];
    go([...behind.words, ...added], true);
    // Where there are options, a command may begin at any word.
    const first = rest[0] ?? "";
    if (!first.startsWith("-") && !launchers.has(name)) return;
    const leading = rest.slice(0, MAX_LEADING);
    leading.forEach((_, index) => {
      go(
        [...rest.slice(index), ...added].map((word) => (name === "xargs" ? filled(word) : word)),
        false,
      );
    });
    if (rest.length > MAX_LEADING && leading.filter((word) => word.startsWith("-")).length > 12)
      this.#doubt("it has too many options");
  }

  #shell(call: Call): void {
    const { words, depth } = call;
    const hasScript = words.some((word) => /^-[A-Za-z]*c/.test(word) || word === "--command" || word === ANYTHING);
    const operands = words.filter((word) => !/^[-+]/.test(word));
    const joined = words.flatMap((word) => /^-[A-Za-z]*?c(.+)/s.exec(word)?.[1] ?? []);
    if (hasScript) for (const text of [...operands, ...joined]) this.script(text, depth + 1);
    else if (operands.length === 0 || isFromElsewhere(operands[0]) || words.some((word) => /^-\w*s/.test(word)))
      this.#fed(call);
  }

  /** A shell that reads what it runs. */
  #fed({ isPiped, read, depth }: Call): void {
    if (isPiped || read.inputs.length === 0) this.#doubt("a shell reads what it runs from elsewhere");
    for (const input of read.inputs) this.script(input, depth + 1);
  }

  #find(call: Call): void {
    const { words } = call;
    words.forEach((word, index) => {
      if (!/^(?:-(?:exec|execdir|ok|okdir|x|X)|--exec(?:-batch)?)$/.test(word)) return;
      const end = words.findIndex((one, at) => at > index && one === ";");
      this.#command({ ...call, words: words.slice(index + 1, end < 0 ? undefined : end).map(filled) });
    });
  }

  #doubt(why: string): void {
    this.unclear ??= why;
  }
}

interface Call {
  readonly words: readonly string[];
  readonly isPiped: boolean;
  /** What it is a part of. */
  readonly read: ReadScript;
  readonly depth: number;
}

function isAssignment(word: string): boolean {
  return /^[A-Za-z_]\w*\+?=/.test(word);
}

function isFromElsewhere(word: string | undefined): boolean {
  return word === undefined || word.includes(ANYTHING) || /^\/(?:dev|proc)\//.test(word) || word === "-";
}

function filled(word: string): string {
  return word.replaceAll("{}", ANYTHING);
}
