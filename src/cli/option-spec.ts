/** The vocabulary of option tables. Parsing, help and completions are all made from the same tables. */
import type { AgentKernelError } from "../core/errors.js";
import type { Invocation } from "../invocation/index.js";

export interface OptionSpec {
  /** Without the dashes. */
  readonly long: string;
  readonly short?: string;
  /** Placeholder of the value in help; without it the option is a switch. */
  readonly value?: string;
  readonly choices?: readonly string[];
  readonly repeats?: boolean;
  /** What a shell completes where there are no choices. */
  readonly completes?: "file" | "folder";
  readonly help: string;
}

/** By the long names of options. Choices have been held to their lists already. */
export interface ParsedOptions {
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** The words after the options, untouched. */
  readonly rest: readonly string[];
  /** The first thing that was wrong, kept until it is known how to report it. */
  readonly problem: AgentKernelError | null;
}

export interface VerbSpec {
  /** One or two words. */
  readonly name: string;
  readonly summary: string;
  readonly usage: string;
  readonly examples: readonly string[];
  readonly options: readonly OptionSpec[];
  /** Whether words may follow the options, and which ones where they are known. */
  readonly rest: { readonly kind: "none" } | RestCommand | RestWords | { readonly kind: "files" } | RestChoices;
  /** Runs in a process of its own even where a daemon is up: it is about that process, or would hold others up. */
  readonly apart?: true;
  /** Only a daemon can serve it: it owns what outlives the call. Where none is up, the command line starts one. */
  readonly daemon?: "required";
  /** It waits for its caller most of the time; what is asked of it meanwhile counts as work by itself. */
  readonly standing?: true;
  /** Called by programs, never typed: in no list and no completion. */
  readonly hidden?: true;
  readonly load: () => Promise<VerbModule>;
}

interface VerbModule {
  /** Returns the exit status. */
  readonly execute: (parsed: ParsedOptions, invocation: Invocation) => Promise<number>;
  /** Whether these options need a process of its own; see `apart`. */
  readonly runsApart?: (parsed: ParsedOptions) => boolean;
  /** Whether these options need a daemon, where the verb itself does not; see `daemon`. */
  readonly needsDaemon?: (parsed: ParsedOptions) => boolean;
}

/** The user's command: options end at its first word. */
interface RestCommand {
  readonly kind: "command";
  readonly optional?: true;
  /** What its first word is, where the command begins with the second. */
  readonly first?: "sandbox";
}

/** Options may also come between and after them. */
interface RestWords {
  readonly kind: "words";
  readonly completes?: "file" | "sandbox" | "sandbox-then-files" | "snapshot";
  /** What a shell completes; the verb itself says what it takes. */
  readonly choices?: readonly string[];
}

interface RestChoices {
  readonly kind: "choices";
  readonly choices: readonly string[];
}

/** Whether the words after the options are names of files. */
export function takesFiles({ rest }: VerbSpec): boolean {
  return rest.kind === "files" || (rest.kind === "words" && rest.completes === "file");
}

/** Whether the words after the options are, or begin with, names of sandboxes or snapshots. */
export function takesNames({ rest }: VerbSpec): boolean {
  if (rest.kind === "command") return rest.first === "sandbox";
  return rest.kind === "words" && rest.completes !== undefined && rest.completes !== "file";
}

/** How a shell asks for them. It never starts a daemon. */
export function namesCommand({ rest }: VerbSpec): string {
  const of = rest.kind === "words" && rest.completes === "snapshot" ? " --snapshots" : "";
  return `agentkernel names${of} 2>/dev/null`;
}

/** The words that may follow the options, where they are known. */
export function knownWords({ rest }: VerbSpec): readonly string[] | undefined {
  return rest.kind === "choices" || rest.kind === "words" ? rest.choices : undefined;
}
