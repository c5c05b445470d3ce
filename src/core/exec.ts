/** One command in a sandbox, and what came of it. */
export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

export interface ExecRequest {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user?: string;
  /** false: the command reads from /dev/null. */
  readonly stdin: boolean;
  readonly tty?: TerminalSize;
  /**
   * Only in a kept sandbox: the command goes on when the connection to the sandbox is lost, and is found again by this
   * name. 1 to 64 letters, digits, dots, dashes or underscores.
   */
  readonly key?: string;
  /** A hint for the case that the sandbox has no such command; null: none. Never sent. */
  readonly whyNotFound?: () => string | null;
}

interface ResourceUsage {
  readonly userUs: number;
  readonly systemUs: number;
  readonly maxRssKiB: number;
}

/** Exactly one of `code` and `signal` is a number. */
export interface ExecExit {
  readonly code: number | null;
  readonly signal: number | null;
  readonly usage: ResourceUsage;
}

export type SignalScope = "process" | "group" | "tree";
