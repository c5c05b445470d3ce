/**
 * Who asks for a setting, and whether that is enough to open a sandbox further. The rule: only the user's own words
 * widen what a sandbox may do; everything else can only narrow it.
 */

/** The user's own words widen. What another party brings narrows, and never widens. */
type Rank = "user" | "other";

export const rankByOrigin = {
  /** Built into agentkernel. */
  default: "user",
  /** An option on the command line. */
  flag: "user",
  /** The user-wide configuration file. */
  "user-file": "user",
  /** A policy or configuration file that the user named on the command line. */
  "named-file": "user",
  /** A question that the user answered: an approval, or `agentkernel trust`. */
  answer: "user",
  /** Files that a project brings: agentkernel.toml, and the MCP configuration for the preset `mcp-servers`. */
  "project-file": "other",
  /** A caller with an API key or token. */
  key: "other",
  /** A model, through the tools of an MCP client. */
  "mcp-client": "other",
  /** A hook of an agent, for a command that a model wrote. */
  hook: "other",
} as const satisfies Readonly<Record<string, Rank>>;

export type AuthorityOrigin = keyof typeof rankByOrigin;

/** A profile or a compatibility mode has the authority of the party that named it. */
export interface Authority {
  readonly origin: AuthorityOrigin;
  /** The input for people: `--network`, `agentkernel.toml:3`, `mode claude`. */
  readonly name: string;
  /** Where a profile or mode was named: `--profile`, `agentkernel.toml:2`. */
  readonly namedIn?: string;
}

export function mayWiden({ origin }: Authority): boolean {
  return rankByOrigin[origin] === "user";
}
