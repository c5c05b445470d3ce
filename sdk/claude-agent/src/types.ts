/** The words of this package. */
import type { CreateOptions, Resources } from "agentkernel";

/** What the Bash tool is called with. */
export interface SandboxBashInput {
  command: string;
  /** In milliseconds. */
  timeout?: number;
  description?: string;
  run_in_background?: boolean;
  /** A wish to leave the sandbox. It is never granted here. */
  dangerouslyDisableSandbox?: boolean;
}

export interface SandboxResult {
  readonly stdout: string;
  readonly stderr: string;
  /** The command's own; 124 timed out, 126 not executable, 127 not found, 128+n killed by signal n. */
  readonly exitCode: number;
  readonly timedOut: boolean;
  readonly durationMs: number;
  readonly sandbox: string;
}

/** Runs commands of an agent in one sandbox, which is removed when it is closed. */
export interface SandboxRunner extends AsyncDisposable {
  /** Of the sandbox. */
  readonly name: string;
  /** By a shell. A command that fails is a result. */
  run(
    command: string,
    options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal },
  ): Promise<SandboxResult>;
  readFile(path: string): Promise<string>;
  writeFile(path: string, text: string): Promise<void>;
  /** The words that run this command in the same sandbox, for a shell on the host. */
  hostCommand(command: string): string;
  close(): Promise<void>;
}

/** Which tools an agent may use. Names are as the SDK has them; `*` is any text. What is named nowhere is refused. */
export interface SandboxPolicy {
  readonly allow?: readonly string[];
  /** Wins over all others. */
  readonly deny?: readonly string[];
  /** Put to `ask`; refused where there is none. */
  readonly askFor?: readonly string[];
  readonly ask?: (tool: string, input: Readonly<Record<string, unknown>>) => Promise<boolean>;
}

/** The sandbox of a query. */
export interface SandboxOptions {
  /** Shown as /workspace, as a copy unless `workspace` says otherwise; by default the query's `cwd`. */
  readonly dir?: string | null;
  readonly workspace?: CreateOptions["workspace"];
  readonly image?: string;
  readonly profile?: CreateOptions["profile"];
  readonly network?: CreateOptions["network"];
  readonly env?: Readonly<Record<string, string>>;
  readonly resources?: Resources;
  /** Of one command (120000). */
  readonly timeoutMs?: number;
  readonly policy?: SandboxPolicy;
  /** How agentkernel is called on this machine (`agentkernel`). */
  readonly program?: string;
  /** Each use of a tool, when it is over. */
  readonly onRecord?: (record: ToolRecord) => void;
}

export interface ToolRecord {
  readonly tool: string;
  readonly input: unknown;
  /** It was run, and failed; a command that exits non-zero counts as that. */
  readonly isFailed: boolean;
  /** Size of the answer, or of the reason, as JSON. */
  readonly responseBytes: number;
  readonly durationMs: number | null;
  /** Where Bash ran; null for all other tools. */
  readonly sandbox: string | null;
}
